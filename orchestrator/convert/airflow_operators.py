"""What an operator of Airflow does, as the body of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.convert.airflow_keys import COMMON, seconds_of
from orchestrator.convert.airflow_model import AirTask, Code, Moment, Output, Seconds
from orchestrator.convert.printing import shown
from orchestrator.convert.report import Place
from orchestrator.convert.scope import STEPS
from orchestrator.convert.syntax import Const, Node, Part
from orchestrator.convert.templates import Templates, absent

NOTHING = ("EmptyOperator", "DummyOperator", "BaseOperator")
PYTHON = ("PythonOperator", "PythonVirtualenvOperator", "ExternalPythonOperator", "@task")
SHORT = ("ShortCircuitOperator", "@task.short_circuit")
# Those whose function needs no environment of its own.
_PLAIN = ("PythonOperator", "BranchPythonOperator", *SHORT, "@task", "@task.branch")
_SENSOR_KEYS = ("mode", "poke_interval", "timeout", "soft_fail", "exponential_backoff", "max_wait", "silent_fail")
_PYTHON_KEYS = frozenset({"python_callable", "op_args", "op_kwargs", "templates_dict", "provide_context"})
_BASH_KEYS = ("bash_command", "env", "cwd")
_TRIGGER_KEYS = ("trigger_dag_id", "conf", "wait_for_completion", "deferrable", "poke_interval")


def is_branch(operator: str) -> bool:
    """Whether what it gives names the tasks that go on."""
    return operator.startswith(("Branch", "@task.branch"))


def body_of(task: AirTask, templates: Templates) -> dict[str, Any]:
    """The part of a step that says what it does."""
    own = {key: value for key, value in task.args.items() if key not in COMMON}
    return _Reader(task, own, templates).body()


def value_of(value: Any, place: Place, templates: Templates, line: int | None = None) -> Any:
    """A value of a DAG as JSON with templates of ours."""
    if isinstance(value, Output):
        return "{{ " + shown(output_of(value)) + " }}"
    if isinstance(value, Code):
        why = f"`{value.text[:60]}` is worked out when the program runs"
        templates.report.lost(place, why, "write its value", step=templates.step, line=value.line or line)
        return "{{ " + absent(value.text) + " }}"
    if isinstance(value, Seconds):
        return value.value
    if isinstance(value, Moment):
        return value.text
    if isinstance(value, Mapping):
        return {str(key): value_of(part, (*place, str(key)), templates, line) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [value_of(part, (*place, i), templates, line) for i, part in enumerate(value)]
    return templates.value(value, place)


def output_of(value: Output) -> Node:
    node: Node = Part(Part(STEPS, Const(value.task)), Const("output"))
    for key in value.keys:
        node = Part(node, Const(key))
    return node


class _Reader:
    def __init__(self, task: AirTask, own: dict[str, Any], templates: Templates) -> None:
        self.task, self.own, self.templates = task, own, templates
        self.by_name: dict[str, Callable[[], dict[str, Any]]] = {
            "BashOperator": self._bash,
            "@task.bash": self._function,
            "TriggerDagRunOperator": self._trigger,
            "TimeDeltaSensor": self._wait,
            "TimeDeltaSensorAsync": self._wait,
            "DateTimeSensor": self._until,
        }

    def body(self) -> dict[str, Any]:
        name = self.task.operator
        if name in NOTHING:
            return {"pass": True} | self._unused(())
        if name in (*PYTHON, *SHORT) or name.startswith(("@task", "BranchPython", "BranchExternalPython")):
            return self._function()
        return self.by_name.get(name, self._other)()

    def _value(self, key: str) -> Any:
        return value_of(self.own[key], (*self.task.place, key), self.templates, self.task.line)

    def _lost(self, key: str, message: str, hint: str | None = None) -> None:
        self.templates.report.lost((*self.task.place, key), message, hint, step=self.task.id, line=self.task.line)

    def _note(self, message: str, hint: str | None = None) -> None:
        self.templates.report.note(self.task.place, message, hint, step=self.task.id, line=self.task.line)

    def _unused(self, used: Any) -> dict[str, Any]:
        for key in self.own:
            if key not in used:
                self._lost(key, f"this argument of {self.task.operator} is not carried over")
        return {}

    def _bash(self) -> dict[str, Any]:
        self._unused(_BASH_KEYS)
        command = self._value("bash_command") if "bash_command" in self.own else ""
        more = {key: self._value(key) for key in ("env", "cwd") if self.own.get(key) is not None}
        self._note("is shell.run: its output has exit_code, stdout, stderr", "set ORCHESTRATOR_ENABLE_SHELL")
        return {"function": "shell.run", "input": {"argv": ["bash", "-c", command], **more}}

    def _function(self) -> dict[str, Any]:
        inputs: dict[str, Any] = {}
        if self.task.operator.startswith("@task"):
            inputs = {key: self._value(key) for key in self.own}
        else:
            inputs = self._op_arguments()
        body: dict[str, Any] = {"function": self._called()}
        if self.task.operator == "@task.sensor":
            self._note(
                "is asked again and again there", "let the function raise RetryLater(after=...) while it has to wait"
            )
        elif self.task.operator not in _PLAIN:
            why = f"{self.task.operator}: the function runs in its worker's own environment"
            self._lost("operator", why, "give the step a 'queue' whose workers have what it needs")
        return body | ({"input": inputs} if inputs else {})

    def _called(self) -> str:
        callable_ = self.own.get("python_callable", self.task.function)
        if isinstance(callable_, str):
            return callable_
        if self.task.function:
            return self.task.function
        if isinstance(callable_, Code):
            self._note(f"`{callable_.text[:60]}` has no name: the function is called '{self.task.id}'")
        return self.task.id

    def _op_arguments(self) -> dict[str, Any]:
        for key in self.own.keys() - _PYTHON_KEYS:
            self._lost(key, f"this argument of {self.task.operator} is not carried over")
        if self.own.get("op_args"):
            self._lost("op_args", "functions are called with keyword arguments", "name them in 'input'")
        given = self.own.get("op_kwargs")
        inputs = self._value("op_kwargs") if given else {}
        if not isinstance(inputs, dict):
            self._lost("op_kwargs", "must be written out as a map", "write 'input'")
            inputs = {}
        return inputs | ({"templates_dict": self._value("templates_dict")} if "templates_dict" in self.own else {})

    def _trigger(self) -> dict[str, Any]:
        self._unused(_TRIGGER_KEYS)
        name = self.own.get("trigger_dag_id")
        if not isinstance(name, str):
            return self._other()
        if not self.own.get("wait_for_completion"):
            self._note("there the other run is only started; here the step waits for its end")
        conf = self._value("conf") if self.own.get("conf") else None
        return {"workflow": self.templates.text(name, self.task.place)} | ({"input": conf} if conf else {})

    def _wait(self) -> dict[str, Any]:
        self._unused(("delta", *_SENSOR_KEYS, "deferrable", "end_from_trigger"))
        delay = seconds_of(self.own.get("delta"))
        if delay is None:
            return self._other()
        self._note("waits from when it starts, not from the end of a data interval")
        return {"sleep": delay}

    def _until(self) -> dict[str, Any]:
        target = self.own.get("target_time")
        if not isinstance(target, str | Moment):
            return self._other()
        self._unused(("target_time", *_SENSOR_KEYS))
        return {"sleep": self._value("target_time")}

    def _other(self) -> dict[str, Any]:
        """Any operator: a function of its name, with its arguments as input."""
        name = self.task.operator
        sensor = name.endswith("Sensor")
        hint = "let it raise RetryLater(after=...) while it has to wait" if sensor else None
        self._note(f"write a function '{name}' that does what the operator does", hint)
        for key in _SENSOR_KEYS if sensor else ():
            if key in self.own:
                self._lost(key, "how a sensor asks again is up to its function", "raise RetryLater(after=...)")
        inputs = {key: self._value(key) for key in self.own if not (sensor and key in _SENSOR_KEYS)}
        return {"function": name} | ({"input": inputs} if inputs else {})
