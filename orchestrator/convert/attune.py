"""Attune's workflows: tasks in a list, with `next` or the flat `on_success` and `on_failure`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.convert.actions import QUESTIONS, Act, body_of
from orchestrator.convert.attune_next import next_of
from orchestrator.convert.conditions import condition, number, seconds
from orchestrator.convert.context import Context, context_of, given_vars
from orchestrator.convert.finish import NotImported, finish
from orchestrator.convert.inline import named_values, names_of
from orchestrator.convert.publishing import Publishing
from orchestrator.convert.report import Imported, Place, Report
from orchestrator.convert.scope import End, Scope
from orchestrator.convert.source import Source
from orchestrator.convert.tasks import Task, Transition
from orchestrator.convert.templates import Templates
from orchestrator.convert.wiring import Wiring
from orchestrator.domain.limits import Limits
from orchestrator.errors import Problem

_TOP = [
    "ref",
    "name",
    "label",
    "description",
    "version",
    "parameters",
    "output",
    "output_schema",
    "vars",
    "tasks",
    "output_map",
    "tags",
    "cancellation_policy",
    "metadata",
    "enabled",
]
_TASK = [
    "name",
    "type",
    "action",
    "input",
    "when",
    "with_items",
    "batch_size",
    "concurrency",
    "retry",
    "timeout",
    "next",
    "on_success",
    "on_failure",
    "on_complete",
    "on_timeout",
    "decision",
    "publish",
    "join",
    "tasks",
    "wait_for",
    "iterate_cache",
    "permission_set_refs",
    "permission_set_ref",
    "trace_tag_template",
    "worker_selector",
    "worker_tolerations",
    "worker_affinity",
    "__chart_meta__",
]
_NOT_HERE = {
    "iterate_cache": "read the cache in a step, and give its list to 'with_items'",
    "permission_set_refs": "a function has the rights of its worker",
    "permission_set_ref": "a function has the rights of its worker",
    "worker_selector": "give the step a 'queue' that only such workers serve",
    "worker_tolerations": "give the step a 'queue' that only such workers serve",
    "worker_affinity": "give the step a 'queue' that only such workers serve",
    "wait_for": "put a step with 'wait_for' before it",
}
_MEANINGLESS = ("trace_tag_template", "__chart_meta__")
_BACKOFFS = ("constant", "linear", "exponential")


@dataclass(frozen=True, slots=True)
class _Making:
    report: Report
    context: Context
    workflows: Mapping[str, str]

    def templates(self, step: str, end: End | None = None) -> Templates:
        return Templates(self.report, replace(self.context.scope, task=step, end=end), step)


def import_attune(source: Source, workflows: Mapping[str, str], limits: Limits) -> Imported:
    """The workflow of an Attune document. Raises `NotImported`."""
    given, report = source.data, Report()
    tasks = _flat(given.get("tasks"), ("tasks",), report)
    if not tasks:
        raise NotImported([Problem("tasks", "must be a list with one task or more")])
    report.unknown(given, _TOP, ())
    making = _Making(report, _context(given, source, tasks, report), workflows)
    found = {task["name"]: _task(task, place, making) for task, place in tasks}
    publishing = Publishing(report, making.context.scope)
    document = {"name": source.name, **_about(given, source, report), **making.context.document}
    document["steps"] = Wiring(found, publishing, report).steps()
    if output := named_values(given.get("output_map"), ("output_map",), report):
        document["output"] = publishing.values(output, ("output_map",), making.context.scope, None)
    return finish(document, report, source=source.told, limits=limits)


def _about(given: Mapping[str, Any], source: Source, report: Report) -> dict[str, Any]:
    about = {key: given[key] for key in ("version", "label", "description", "tags") if given.get(key)}
    about |= source.about(report)
    for key in ("metadata", "enabled"):
        if key in given:
            report.ignored(
                (key,), "is for people, and has no place here" if key == "metadata" else "has no meaning here"
            )
    if given.get("cancellation_policy") == "cancel_running":
        report.lost(("cancellation_policy",), "a cancel lets running steps end", "cancel with --force")
    schema = given.get("output", given.get("output_schema", source.metadata.get("output")))
    if isinstance(schema, Mapping) and schema:
        report.note(("output",), "is a schema there that nothing checks; as 'output_schema' it would fail a run")
    return about


def _flat(value: Any, place: Place, report: Report) -> list[tuple[dict[str, Any], Place]]:
    """All tasks with their places; those within a `parallel` task stand beside each other."""
    found: list[tuple[dict[str, Any], Place]] = []
    names: set[str] = set()
    for i, task in enumerate(value if isinstance(value, list) else []):
        at = (*place, i)
        if not isinstance(task, Mapping) or not isinstance(task.get("name"), str):
            report.lost(at, "is not a task with a name")
        elif task["name"] in names:
            report.lost(at, f"there are two tasks '{task['name']}'", "give each a name of its own")
        else:
            names.add(task["name"])
            found += _parallel(dict(task), at, report) if task.get("type") == "parallel" else [(dict(task), at)]
    return found


def _parallel(task: dict[str, Any], place: Place, report: Report) -> list[tuple[dict[str, Any], Place]]:
    """A task that does nothing and leads to its parts, and one that waits for them and goes on as the task does."""
    inner = _flat(task.get("tasks"), (*place, "tasks"), report)
    names = [part["name"] for part, _ in inner]
    start = {"name": f"{task['name']}_start", "action": "core.noop", "next": [{"do": names}]}
    end = {key: value for key, value in task.items() if key not in ("tasks", "type")}
    end |= {"action": "core.noop", "join": len(names) or 1}
    for part, _ in inner:
        part["next"] = [*(part.get("next") or []), {"when": "{{ succeeded() }}", "do": [task["name"]]}]
    report.note(place, f"is parallel: its parts follow '{start['name']}', and it waits for all", step=task["name"])
    return [(start, place), *inner, (end, place)]


def _context(
    given: Mapping[str, Any], source: Source, tasks: list[tuple[dict[str, Any], Place]], report: Report
) -> Context:
    own = given.get("parameters")
    parameters = own if isinstance(own, Mapping) and own else source.parameters
    published = [name for task, _ in tasks for entry in next_of(task) for name, _ in _pairs(entry.get("publish"))]
    scope = Scope(
        tasks=frozenset(task["name"] for task, _ in tasks),
        questions=frozenset(task["name"] for task, _ in tasks if task.get("action") in QUESTIONS),
    )
    return context_of(scope, {}, given_vars(given.get("vars"), report), published, report, parameters)


def _pairs(
    value: Any, place: Place = (), report: Report | None = None, step: str | None = None
) -> list[tuple[str, Any]]:
    """What is published; a name alone stands for the whole result."""
    if isinstance(value, list):
        value = [{part: "{{ result() }}"} if isinstance(part, str) else part for part in value]
    return named_values(value, place, report or Report(), step)


def _task(task: Mapping[str, Any], place: Place, making: _Making) -> Task:
    name, report = task["name"], making.report
    report.unknown(task, _TASK, place, name)
    for key, hint in _NOT_HERE.items():
        if task.get(key) is not None:
            report.lost((*place, key), "there is nothing like it here", hint, step=name)
    for key in _MEANINGLESS:
        if key in task:
            report.ignored((*place, key), step=name)
    templates = making.templates(name)
    written = dict(named_values(task.get("input"), (*place, "input"), report, name))
    inputs = templates.value(written, (*place, "input"))
    action = task.get("action")
    if not isinstance(action, str | None):
        report.lost((*place, "action"), "is not the name of an action", step=name)
        action = None
    body = body_of(Act(action, inputs, name, place), making.workflows, report)
    body |= _items(task, place, templates) | _retry(task.get("retry"), (*place, "retry"), making.templates(name))
    if (limit := seconds(task.get("timeout"), (*place, "timeout"), templates)) is not None:
        body["timeout"] = limit
    if task.get("when") is not None:
        body["when"] = condition(task["when"], (*place, "when"), templates)[1] or "true"
    return Task(name, place, body, _transitions(task, place, making), task.get("join"))


def _items(task: Mapping[str, Any], place: Place, templates: Templates) -> dict[str, Any]:
    if task.get("with_items") is None:
        return {}
    items = templates.value(task["with_items"], (*place, "with_items"))
    more = {}
    for key in ("batch_size", "concurrency"):
        if task.get(key) is not None:
            more[key] = number(task, key, 1, place, templates)
    return {"with_items": {"items": items, **more} if more else items}


def _retry(value: Any, place: Place, templates: Templates) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {}
    templates.report.unknown(value, ("count", "delay", "backoff", "max_delay", "on_error"), place, templates.step)
    retry: dict[str, Any] = {"max_attempts": int(number(value, "count", 1, place, templates)) + 1}
    for key in ("delay", "max_delay"):
        if value.get(key):
            retry[key] = number(value, key, 0, place, templates)
    if value.get("backoff") in _BACKOFFS and value["backoff"] != "constant":
        retry["backoff"] = value["backoff"]
    if value.get("on_error"):
        scoped = replace(templates, scope=replace(templates.scope, end=End.FAILURE))
        _, more = condition(value["on_error"], (*place, "on_error"), scoped)
        if more is not None:
            retry["while"] = more
    return {"retry": retry}


def _transitions(task: Mapping[str, Any], place: Place, making: _Making) -> list[Transition]:
    found = []
    for i, entry in enumerate(next_of(task)):
        at, name = (*place, "next", i), task["name"]
        making.report.unknown(entry, ("when", "publish", "do", "__chart_meta__", "lost"), at, name)
        if "lost" in entry:
            making.report.lost((*place, entry["lost"]), "is not a transition that is known", step=name)
        end, more = condition(entry.get("when"), (*at, "when"), making.templates(name))
        publish = tuple(_pairs(entry.get("publish"), (*at, "publish"), making.report, name))
        do = names_of(entry.get("do"), (*at, "do"), making.report, name) or ("continue",)
        found.append(Transition(at, end, more, publish, do))
    return found
