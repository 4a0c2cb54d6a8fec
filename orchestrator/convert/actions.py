"""What the actions of StackStorm and Attune are here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.convert.report import Place, Report
from orchestrator.convert.schemas import fields_of

_SHELL = {"cmd", "timeout", "cwd", "env"}
_ASK = {"schema", "ttl", "users", "roles", "route", "tag", "prompt", "response_schema", "timeout_seconds", "purpose"}
QUESTIONS = ("core.ask",)


@dataclass(frozen=True, slots=True)
class Act:
    """One task's action and its input, already in our words."""

    name: str | None
    input: Mapping[str, Any]
    task: str
    place: Place


def body_of(act: Act, workflows: Mapping[str, str], report: Report) -> dict[str, Any]:
    """The part of a step that says what it does. `workflows`: those imported with it, by the names actions use."""
    if act.name in (None, "core.noop", "std.noop"):
        return _nothing(act, report)
    if act.name in workflows:
        return {"workflow": workflows[act.name]} | _input(act)
    if act.name in QUESTIONS:
        return _question(act, report)
    if act.name == "core.local" and isinstance(act.input.get("cmd"), str):
        return _shell(act, report)
    return {"function": act.name} | _input(act)


def _input(act: Act) -> dict[str, Any]:
    return {"input": dict(act.input)} if act.input else {}


def _nothing(act: Act, report: Report) -> dict[str, Any]:
    for key in act.input:
        report.ignored((*act.place, "input", key), "is not used by a task that does nothing", step=act.task)
    return {"pass": True}


def _shell(act: Act, report: Report) -> dict[str, Any]:
    report.note(
        (*act.place, "action"),
        "core.local is shell.run: its output has exit_code, stdout, stderr",
        "it is off unless ORCHESTRATOR_ENABLE_SHELL is set",
        step=act.task,
    )
    for key in act.input:
        if key not in _SHELL:
            report.lost((*act.place, "input", key), "shell.run has no such input", step=act.task)
    kept = {key: value for key, value in act.input.items() if key in _SHELL and key != "cmd"}
    return {"function": "shell.run", "input": {"argv": ["sh", "-c", act.input["cmd"]], **kept}}


def _question(act: Act, report: Report) -> dict[str, Any]:
    """core.ask: `wait_for` an approval whose fields people fill in."""
    for key in act.input:
        if key not in _ASK:
            report.lost((*act.place, "input", key), "an approval has nothing like it", step=act.task)
    schema = act.input.get("schema", act.input.get("response_schema", {}))
    title = act.input.get("prompt", act.task)
    approval: dict[str, Any] = {"title": title if isinstance(title, str) else act.task}
    if fields := fields_of(schema, (*act.place, "input", "schema"), report, act.task):
        approval["fields"] = fields
    if asked := [*_listed(act.input.get("users")), *_listed(act.input.get("roles"))]:
        approval["assignees"] = asked
    for key in ("route", "tag", "purpose"):
        if key in act.input:
            report.ignored((*act.place, "input", key), "approvals are found by workflow and step", step=act.task)
    report.note(
        (*act.place, "action"),
        "the answer is asked for with 'orchestrator approve', and a no fails the step",
        "its output is {approved, by, comment, fields}",
        step=act.task,
    )
    return {"wait_for": {"approval": approval} | _limit(act.input)}


def _limit(given: Mapping[str, Any]) -> dict[str, Any]:
    ttl = given.get("ttl")
    if isinstance(ttl, int | float) and ttl:
        return {"timeout": ttl * 60}
    seconds = given.get("timeout_seconds")
    return {"timeout": seconds} if seconds else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
