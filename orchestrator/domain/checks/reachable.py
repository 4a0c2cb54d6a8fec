"""Steps that can never start, however the others end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.domain.definition import Definition, Edge, EdgeOn, OnError, OnUnreachable, Step, StepKind, TriggerRule
from orchestrator.domain.graph import make_plan
from orchestrator.domain.rules import needed
from orchestrator.domain.states import StepStatus

_S = StepStatus
Ends = frozenset[StepStatus]
_SKIPPED: Ends = frozenset({_S.SKIPPED})
_NOT_STARTED: Ends = frozenset({_S.SKIPPED, _S.UPSTREAM_FAILED})
_STARTED: Ends = frozenset({_S.SUCCEEDED, _S.FAILED, _S.SKIPPED})
_WANTED = {
    EdgeOn.SUCCESS: frozenset({_S.SUCCEEDED}),
    EdgeOn.FAILURE: frozenset({_S.FAILED}),
    EdgeOn.COMPLETE: frozenset({_S.SUCCEEDED, _S.FAILED}),
    EdgeOn.SKIPPED: _SKIPPED,
}


def never_started(definition: Definition) -> Iterator[Step]:
    """The steps of a checked definition that no run can start. A step may be missed, but none is named wrongly."""
    ends: dict[str, Ends] = {}
    steps = {step.name: step for step in definition.steps}
    for placed in make_plan(definition).steps:
        step = placed.step
        if _can_start(step, steps, ends):
            ends[step.name] = _ends(step)
        else:
            ends[step.name] = _NOT_STARTED | {_S.FAILED}
            yield step


def _ends(step: Step) -> Ends:
    """How a step may end that may start."""
    if step.kind is not StepKind.PASS or "{{" in repr((step.input, step.publish)):
        own = _STARTED
    else:
        own = frozenset({_S.SUCCEEDED}) if step.when is None else _STARTED
    if not step.depends_on:
        return own
    fails = step.on_unreachable is OnUnreachable.FAIL or any(edge.when is not None for edge in step.depends_on)
    return own | _NOT_STARTED | (frozenset({_S.FAILED}) if fails else frozenset())


def _can_start(step: Step, steps: Mapping[str, Step], ends: Mapping[str, Ends]) -> bool:
    if step.trigger_rule is not None:
        return _rule_can_be_met(step, ends)
    sources = {edge.step for edge in step.depends_on if _can_be_satisfied(edge, steps, ends)}
    total = len({edge.step for edge in step.depends_on})
    return len(sources) >= needed(step, total)


def _can_be_satisfied(edge: Edge, steps: Mapping[str, Step], ends: Mapping[str, Ends]) -> bool:
    if edge.when == "false":
        return False
    goes_on = edge.on is EdgeOn.SUCCESS and steps[edge.step].on_error is OnError.CONTINUE
    wanted = _WANTED[edge.on] | ({_S.FAILED} if goes_on else frozenset())
    return bool(wanted & ends[edge.step])


def _rule_can_be_met(step: Step, ends: Mapping[str, Ends]) -> bool:
    sources = [ends[edge.step] for edge in step.depends_on]
    failed = [bool(end & {_S.FAILED, _S.UPSTREAM_FAILED}) for end in sources]
    if not sources:
        return True
    match step.trigger_rule:
        case TriggerRule.ALL_FAILED:
            return all(failed)
        case TriggerRule.ONE_FAILED:
            return any(failed)
        case TriggerRule.ALL_SKIPPED:
            return all(_S.SKIPPED in end for end in sources)
        case _:
            return True
