"""celery-director: workflows as chains of tasks and groups, many of them in one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.convert.finish import NotImported, finish
from orchestrator.convert.naming import Names
from orchestrator.convert.printing import shown
from orchestrator.convert.report import Imported, Place, Report
from orchestrator.convert.schedules import add_schedule
from orchestrator.convert.scope import STEPS
from orchestrator.convert.source import Source
from orchestrator.convert.syntax import Const, Part
from orchestrator.convert.templates import literal
from orchestrator.domain.limits import Limits
from orchestrator.errors import Problem

_KEYS = ("tasks", "hooks", "queue", "schema", "periodic")
_ARGS = "tasks that read results of those before them from their positional arguments"
_ARGS_HINT = "let them read the keyword argument 'results': a list of what the tasks before them gave"
# What a schema's name leads to, or None.
ReadSchema = Callable[[str], Any]


def import_director(source: Source, read_schema: ReadSchema, limits: Limits) -> list[Imported | NotImported]:
    """Each workflow of a file, in order: imported, or why it cannot be."""
    return [_made(name, given, source, read_schema, limits) for name, given in source.data.items()]


def _made(name: str, given: Any, source: Source, read_schema: ReadSchema, limits: Limits) -> Imported | NotImported:
    try:
        return _import(name, given, source, read_schema, limits)
    except NotImported as error:
        return NotImported([Problem(f"{name}.{p.path}" if p.path else name, p.message, p.hint) for p in error.problems])


def _import(name: str, given: Any, source: Source, read_schema: ReadSchema, limits: Limits) -> Imported:
    report = Report()
    if not isinstance(given, Mapping) or not isinstance(given.get("tasks"), list) or not given["tasks"]:
        raise NotImported([Problem("tasks", "must be a list with one task or more")])
    report.unknown(given, _KEYS, (name,))
    queues = _queues(given.get("queue"), (name, "queue"), report)
    document: dict[str, Any] = {"name": name}
    if "schema" in given:
        document |= _schema(given["schema"], (name, "schema"), read_schema, report)
    document["steps"] = _steps(given["tasks"], (name, "tasks"), queues, report)
    document |= _hooks(given.get("hooks"), (name, "hooks"), queues, report)
    if "periodic" in given:
        _periodic(name, given["periodic"], report)
    if any("depends_on" in step for step in document["steps"]):
        report.note((name, "tasks"), f"results are passed by name: change {_ARGS}", _ARGS_HINT)
    return finish(document, report, source=source.told, limits=limits)


def _queues(value: Any, place: Place, report: Report) -> Mapping[str, str]:
    """The queue of each task by name, that of all others under ''."""
    if isinstance(value, str):
        return {"": value}
    if not isinstance(value, Mapping):
        if value is not None:
            report.lost(place, "is neither a queue nor a map of queues")
        return {}
    report.unknown(value, ("default", "customs"), place)
    customs = value.get("customs") if isinstance(value.get("customs"), Mapping) else {}
    default = value.get("default")
    return {**(customs or {}), **({"": default} if isinstance(default, str) else {})}


def _steps(tasks: list[Any], place: Place, queues: Mapping[str, str], report: Report) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    names = Names()
    before: list[str] = []
    for i, task in enumerate(tasks):
        now = []
        for one, at in _at_once(task, (*place, i), report):
            step = _step(one, before, queues, names, at, report)
            steps.append(step)
            now.append(step["name"])
        before = now or before
    if not steps:
        raise NotImported([Problem("tasks", "holds no task")])
    return steps


def _at_once(task: Any, place: Place, report: Report) -> list[tuple[str, Place]]:
    """The tasks of one link of the chain: one, or those of a group."""
    if isinstance(task, str):
        return [(task, place)]
    if not isinstance(task, Mapping) or len(task) != 1:
        report.lost(place, "is neither a task's name nor a group")
        return []
    name, group = next(iter(task.items()))
    if not isinstance(group, Mapping) or group.get("type") != "group" or not isinstance(group.get("tasks"), list):
        report.lost((*place, name), "is not a group with its tasks")
        return []
    report.unknown(group, ("type", "tasks"), (*place, name))
    inner = []
    for i, part in enumerate(group["tasks"]):
        if isinstance(part, str):
            inner.append((part, (*place, name, "tasks", i)))
        else:
            report.lost((*place, name, "tasks", i), "a group within a group", "put it into a workflow of its own")
    return inner


def _step(
    task: str, before: list[str], queues: Mapping[str, str], names: Names, place: Place, report: Report
) -> dict[str, Any]:
    """A step that calls the task as director does: `payload` as keyword argument, and what came before."""
    name = names.free(task)
    if name != task:
        report.note(place, f"stands here twice: the step is '{name}'", step=name)
    step: dict[str, Any] = {"name": name} | _call(task, before, queues)
    return step | ({"depends_on": [{"step": source} for source in before]} if before else {})


def _call(task: str, before: list[str], queues: Mapping[str, str]) -> dict[str, Any]:
    results = ["{{ " + shown(Part(Part(STEPS, Const(source)), Const("output"))) + " }}" for source in before]
    payload: dict[str, Any] = {"payload": "{{ input }}"}
    called: dict[str, Any] = {"function": f"celery:{task}", "input": payload | ({"results": results} if before else {})}
    queue = queues.get(task, queues.get(""))
    return called | ({"queue": literal(queue)} if isinstance(queue, str) and queue else {})


def _hooks(value: Any, place: Place, queues: Mapping[str, str], report: Report) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        report.lost(place, "is not a map")
        return {}
    report.unknown(value, ("success", "failure"), place)
    found = {}
    for key in ("success", "failure"):
        if isinstance(value.get(key), str):
            found[f"on_{key}"] = _call(value[key], [], queues)
        elif key in value:
            report.lost((*place, key), "is not a task's name")
    return found


def _schema(value: Any, place: Place, read_schema: ReadSchema, report: Report) -> dict[str, Any]:
    found = read_schema(value) if isinstance(value, str) else None
    if isinstance(found, Mapping):
        return {"input_schema": {key: part for key, part in found.items() if key != "$schema"}}
    hint = "put it as 'input_schema' here, or import from the folder above 'schemas'"
    report.lost(place, f"there is no file schemas/{value}.json beside the document", hint)
    return {}


def _periodic(name: str, value: Any, report: Report) -> None:
    place = (name, "periodic")
    if not isinstance(value, Mapping):
        report.lost(place, "is not a map")
        return
    report.unknown(value, ("interval", "crontab", "schedule", "payload"), place)
    every = value.get("interval", value.get("schedule"))
    cron = value.get("crontab")
    if isinstance(every, str) and cron is None:
        report.lost((*place, "schedule"), "the old form with days before months", "write it as 'crontab'")
    elif isinstance(cron, str) or (isinstance(every, int | float) and not isinstance(every, bool)):
        payload = value.get("payload")
        add_schedule(report, place, name, cron=cron, every=None if cron else every, payload=payload)
    else:
        report.lost(place, "has neither an interval in seconds nor a crontab")
