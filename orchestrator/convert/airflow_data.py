"""DAGs of Airflow as YAML or JSON: a list of tasks, tasks by name, or Airflow's own serialized form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.convert.airflow_model import AirDag, AirTask, Moment, Seconds
from orchestrator.convert.report import Place

_UP = ("upstream", "upstream_task_ids", "depends_on", "dependencies")
_DOWN = ("downstream", "downstream_task_ids")
_CLASS = ("operator", "task_type", "_task_type", "operator_name", "operator_class")
_CLASS_TOO = ("class", "class_ref", "_task_module", "task_module", "_operator_name")
_NAMES = ("task_id", "id", "name")


def dags_of(data: Mapping[str, Any], name: str) -> list[AirDag]:
    """The DAGs of a document; `name`: of one that has none."""
    data = _opened(data)
    if isinstance(data.get("dag"), Mapping):
        data = data["dag"]
    if "tasks" in data:
        return [_dag(data, str(data.get("dag_id", name)), ())]
    common = data.get("default") if isinstance(data.get("default"), Mapping) else {}
    found = {key: given for key, given in data.items() if key != "default" and isinstance(given, Mapping)}
    return [_dag({**(common or {}), **given}, str(given.get("dag_id", key)), (key,)) for key, given in found.items()]


def _opened(value: Any) -> Any:
    """Airflow's serialized values as plain ones: `{"__var": ..., "__type": ...}`."""
    if isinstance(value, list):
        return [_opened(part) for part in value]
    if not isinstance(value, Mapping):
        return value
    if value.keys() == {"__var", "__type"}:
        return _typed(value["__var"], value["__type"])
    return {key: _opened(part) for key, part in value.items()}


def _typed(value: Any, kind: Any) -> Any:
    if kind == "timedelta" and isinstance(value, int | float):
        return Seconds(value)
    if kind == "datetime" and isinstance(value, int | float):
        return Moment(str(value))
    return _opened(value)


def _dag(data: Mapping[str, Any], name: str, place: Place) -> AirDag:
    dag = AirDag(name, {key: value for key, value in data.items() if key not in ("tasks", "task_groups")})
    dag.zone = data.get("timezone") if isinstance(data.get("timezone"), str) and data["timezone"] != "UTC" else None
    if data.get("task_groups"):
        dag.losses.append(("task_groups", "groups are for the picture only: names of tasks are as they are", None))
    leads: list[tuple[str, str]] = []
    for key, given, at in _tasks(data.get("tasks"), (*place, "tasks")):
        if not isinstance(given, Mapping) or key is None:
            dag.losses.append((".".join(map(str, at)), "is not a task with a 'task_id'", None))
            continue
        task = _task(given, key, at)
        dag.tasks[task.id] = task
        leads += [(task.id, str(other)) for name in _DOWN for other in _listed(given.get(name))]
    for source, target in leads:
        if target in dag.tasks:
            dag.tasks[target].upstream[source] = None
        else:
            dag.losses.append(("tasks", f"'{source}' leads to '{target}', and there is no such task", None))
    return dag


def _tasks(value: Any, place: Place) -> Iterator[tuple[str | None, Any, Place]]:
    if isinstance(value, Mapping):
        for key, given in value.items():
            yield key, given if given is not None else {}, (*place, key)
    for i, given in enumerate(value if isinstance(value, list) else []):
        names = [given[name] for name in _NAMES if name in given] if isinstance(given, Mapping) else []
        yield (str(names[0]) if names else None), given, (*place, i)


def _task(given: Mapping[str, Any], name: str, place: Place) -> AirTask:
    keys = {*_UP, *_DOWN, *_CLASS, *_CLASS_TOO, *_NAMES}
    args = {key: value for key, value in given.items() if key not in keys}
    operator = next((str(given[key]) for key in (*_CLASS, "class") if isinstance(given.get(key), str)), "EmptyOperator")
    called = args.pop("python_callable_name", None)
    task = AirTask(name, operator.rpartition(".")[2], args, called if isinstance(called, str) else None, place=place)
    task.upstream = {str(other): None for key in _UP for other in _listed(given.get(key))}
    return task


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
