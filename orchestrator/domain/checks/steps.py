"""What must hold within a step: names, retry bounds, and one way of deciding its start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator.domain.checks.findings import Draft, Findings
from orchestrator.domain.checks.schemas import schema_problems
from orchestrator.domain.definition import EdgeOn, OnError, Step, StepKind, WaitFor
from orchestrator.domain.items import MOST_FANS
from orchestrator.domain.paths import child
from orchestrator.domain.sandbox.words import kind

Place = Callable[[str], str]


def check_steps(draft: Draft, findings: Findings) -> None:
    """Every step and handler by itself."""
    for index, step in enumerate(draft.definition.steps):
        first = draft.first_of[step.name]
        if first != index:
            findings.add(f"steps[{index}].name", f"'{step.name:.255}' is already the name of steps[{first}]")
        _check_body(step, lambda key, at=index: draft.place(at, key), findings)  # type: ignore[misc]
        _check_start(draft, index, step, findings)
        if step.compensate is not None:
            _check_undo(draft, index, step.compensate, findings)
    fans = [index for index, step in enumerate(draft.definition.steps) if step.with_items is not None]
    if len(fans) > MOST_FANS:
        findings.add(f"steps[{fans[MOST_FANS]}].with_items", f"at most {MOST_FANS} steps of a workflow may have items")
    _check_defaults(draft, findings)
    for key in ("concurrency_key", "on_limit"):
        if draft.document.get(key) is not None and draft.definition.max_active_runs is None:
            findings.add(key, "goes with 'max_active_runs', which is not set")
    for name, step in draft.definition.handlers.items():
        _check_body(step, lambda key, at=name: draft.handler_place(at, key), findings)  # type: ignore[misc]
        if step.on_error is OnError.ABORT:
            findings.add(f"{name}.on_error", "a handler cannot abort: the run has already ended")


def _check_body(step: Step, place: Place, findings: Findings) -> None:
    if step.kind is StepKind.FUNCTION and not _may_be_arguments(step.input):
        findings.add(
            place("input"),
            f"must be a map of the function's keyword arguments, or a template of one, not {kind(step.input)}",
        )
    if step.cache is not None and step.kind is not StepKind.FUNCTION:
        findings.add(place("cache"), "goes with a function, whose result it keeps")
    if step.slots != 1 and step.pool is None:
        findings.add(place("slots"), "says how many slots of a 'pool' it takes, but no pool is named")
    if step.with_items is not None and step.kind is StepKind.PASS:
        findings.add(place("with_items"), "does nothing for its items: a 'pass' step only passes its 'input' on")
    if step.wait_for is not None:
        _check_wait(step.wait_for, place("wait_for"), findings)
    retry = step.retry
    if retry is not None and retry.max_delay is not None and retry.max_delay < retry.delay:
        findings.add(
            place("retry") + ".max_delay", f"must be at least the delay ({retry.delay:g}), not {retry.max_delay:g}"
        )


def _check_undo(draft: Draft, index: int, undo: Step, findings: Findings) -> None:
    place = f"steps[{index}].compensate"
    _check_body(undo, lambda key: child(place, key), findings)
    if undo.on_error is OnError.ABORT:
        findings.add(f"{place}.on_error", "a compensation cannot abort: the run has already failed")
    if undo.name in draft.names:
        findings.add(f"steps[{draft.first_of[undo.name]}].name", f"'{undo.name:.255}' is the name of a compensation")


def _check_wait(wait: WaitFor, place: str, findings: Findings) -> None:
    if (wait.event is None) == (wait.approval is None):
        said = "has both 'event' and 'approval'" if wait.event is not None else "needs 'event' or 'approval'"
        findings.add(place, f"{said}: it waits for one thing")
    if wait.approval is not None and wait.schema is not None:
        findings.add(f"{place}.schema", "belongs to an event; an approval has 'fields'")
    schemas = {f"{place}.schema": wait.schema} if wait.schema is not None else {}
    fields = wait.approval.fields if wait.approval is not None else {}
    schemas |= {child(f"{place}.approval.fields", name): schema for name, schema in fields.items()}
    for at, schema in schemas.items():
        for problem in schema_problems(schema, at):
            findings.add(problem.path, problem.message, problem.hint)


def _may_be_arguments(value: Any) -> bool:
    return value is None or isinstance(value, dict) or (isinstance(value, str) and "{{" in value)


def _check_start(draft: Draft, index: int, step: Step, findings: Findings) -> None:
    if step.trigger_rule is not None:
        _check_rule(draft, index, step, findings)
    if not isinstance(step.join, int):
        return
    sources = len({edge.step for edge in step.depends_on})
    if step.join > sources:
        found = f"depends on {sources}" if sources else "depends on none"
        findings.add(draft.place(index, "join"), f"asks for {step.join} sources, but the step {found}")


def _check_rule(draft: Draft, index: int, step: Step, findings: Findings) -> None:
    place, raw = draft.place(index, "trigger_rule"), draft.raw(index)
    for other in ("join", "on_unreachable"):
        if raw.get(other) is not None and raw.get("trigger_rule") is not None:
            findings.add(place, f"cannot be combined with '{other}': either of them decides when the step starts")
    if any(edge.on is not EdgeOn.SUCCESS or edge.when is not None for edge in step.depends_on):
        findings.add(
            place,
            "goes with plain dependencies only, and this step has some with 'on' or 'when'",
            "use 'join' with these, or leave out 'on' and 'when'",
        )


def _check_defaults(draft: Draft, findings: Findings) -> None:
    defaults = draft.document.get("defaults") or {}
    for other in ("join", "on_unreachable"):
        if defaults.get(other) is not None and defaults.get("trigger_rule") is not None:
            findings.add("defaults.trigger_rule", f"cannot be combined with '{other}'")
