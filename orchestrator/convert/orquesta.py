"""StackStorm's Orquesta: workflows of version 1.0, and the metadata of actions that name one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.convert.actions import QUESTIONS, Act, body_of
from orchestrator.convert.conditions import condition, join_of, retry_of, seconds
from orchestrator.convert.context import Context, context_of, given_vars
from orchestrator.convert.finish import NotImported, finish
from orchestrator.convert.inline import named_values, names_of, pairs_of
from orchestrator.convert.items import with_items
from orchestrator.convert.marks import has_expression
from orchestrator.convert.publishing import Publishing
from orchestrator.convert.report import Imported, Place, Report
from orchestrator.convert.scope import End, Scope
from orchestrator.convert.source import Source
from orchestrator.convert.tasks import Task, Transition
from orchestrator.convert.templates import Templates
from orchestrator.convert.wiring import Wiring
from orchestrator.domain.limits import Limits
from orchestrator.errors import Problem

_TOP = ("version", "description", "tags", "input", "vars", "output", "tasks")
_TASK = ("action", "input", "with", "retry", "delay", "join", "next")
_TRANSITION = ("when", "publish", "do")


@dataclass(frozen=True, slots=True)
class _Making:
    """What the parts of one import have in common. `workflows`: those that are imported with it."""

    report: Report
    context: Context
    workflows: Mapping[str, str]

    def templates(self, step: str | None = None, **scope: Any) -> Templates:
        return Templates(self.report, replace(self.context.scope, task=step, **scope), step)


def import_orquesta(source: Source, workflows: Mapping[str, str], limits: Limits) -> Imported:
    """The workflow of an Orquesta document. Raises `NotImported`."""
    given, report = source.data, Report()
    tasks = given.get("tasks")
    if not isinstance(tasks, Mapping) or not tasks:
        raise NotImported([Problem("tasks", "must be a map with one task or more")])
    report.unknown(given, _TOP, ())
    if "version" in given:
        report.ignored(("version",), "is the version of the format, not of the workflow")
    making = _Making(report, _context(given, source, tasks, report), workflows)
    found = {name: _task(name, task, making) for name, task in tasks.items()}
    publishing = Publishing(report, making.context.scope)
    document: dict[str, Any] = {"name": source.name, **source.about(report), **making.context.document}
    if "tags" in given:
        document.setdefault("tags", given["tags"])
    if isinstance(given.get("description"), str):
        document.setdefault("description", given["description"].strip())
    document["steps"] = Wiring(found, publishing, report).steps()
    if output := named_values(given.get("output"), ("output",), report):
        document["output"] = publishing.values(output, ("output",), making.context.scope, None)
    return finish(document, report, source=source.told, limits=limits)


def _context(given: Mapping[str, Any], source: Source, tasks: Mapping[str, Any], report: Report) -> Context:
    inputs: dict[str, Any] = {}
    for i, entry in enumerate(_listed(given.get("input"))):
        if isinstance(entry, str):
            inputs[entry] = ...
        elif isinstance(entry, Mapping):
            inputs |= entry
        else:
            report.lost(("input", i), "is neither a name nor a name with its default")
    published = [name for task in tasks.values() if isinstance(task, Mapping) for name in _published(task)]
    asks = frozenset(
        name for name, task in tasks.items() if isinstance(task, Mapping) and _action(task)[0] in QUESTIONS
    )
    many = frozenset(name for name, task in tasks.items() if isinstance(task, Mapping) and task.get("with") is not None)
    scope = Scope(tasks=frozenset(tasks), questions=asks, many=many)
    return context_of(scope, inputs, given_vars(given.get("vars"), report), published, report, source.parameters)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _published(task: Mapping[str, Any]) -> list[str]:
    """The names of variables that a task sets; what is wrong with them is told later."""
    entries = [entry for entry in _listed(task.get("next")) if isinstance(entry, Mapping)]
    return [name for entry in entries for name, _ in named_values(entry.get("publish"), (), Report())]


def _action(task: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The action's name, and the input written behind it."""
    action = task.get("action")
    if not isinstance(action, str):
        return None, {}
    name, _, rest = action.strip().partition(" ")
    return name, dict(pairs_of(rest) or ())


def _task(name: str, given: Any, making: _Making) -> Task:
    place: Place = ("tasks", name)
    if not isinstance(given, Mapping):
        if given is not None:
            making.report.lost(place, "is not a map", step=name)
        given = {}
    making.report.unknown(given, _TASK, place, name)
    action, inline = _action(given)
    more, items = with_items(given.get("with"), (*place, "with"), making.templates(name))
    templates = making.templates(name, items=items)
    written = dict(named_values(given.get("input"), (*place, "input"), making.report, name))
    inputs = templates.value(inline | written, (*place, "input"))
    if action is not None and has_expression(given.get("action")) and has_expression(action + " %>"):
        making.report.lost((*place, "action"), "the name of a function cannot be an expression", step=name)
        action = "dynamic.action"
    body = body_of(Act(action, inputs, name, place), making.workflows, making.report) | more
    if more and "pass" in body:
        body = body | {"function": action or "core.noop"}
        body.pop("pass")
    body |= retry_of(given.get("retry"), (*place, "retry"), making.templates(name, end=End.FAILURE))
    task = Task(name, place, body, join=join_of(given.get("join"), place, making.report, name))
    task.delay = seconds(given.get("delay"), (*place, "delay"), templates)
    task.transitions = _transitions(given.get("next"), place, name, making)
    return task


def _transitions(value: Any, place: Place, name: str, making: _Making) -> list[Transition]:
    found = []
    for i, entry in enumerate(_listed(value)):
        at = (*place, "next", i)
        if not isinstance(entry, Mapping):
            making.report.lost(at, "is not a map", step=name)
            continue
        making.report.unknown(entry, _TRANSITION, at, name)
        end, more = condition(entry.get("when"), (*at, "when"), making.templates(name))
        publish = tuple(named_values(entry.get("publish"), (*at, "publish"), making.report, name))
        do = names_of(entry.get("do"), (*at, "do"), making.report, name) or ("continue",)
        found.append(Transition(at, end, more, publish, do))
    return found
