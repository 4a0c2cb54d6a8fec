"""Whether a step starts: how an ended source counts, and what the counts decide (SPEC section 3, Advance).

A decision to run comes at the first moment it is met. A decision not to run waits until no later end of
another source could change it, so that a step's end never depends on the order in which its sources end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.domain.definition import Edge, EdgeOn, OnError, OnUnreachable, Step, TriggerRule
from orchestrator.domain.states import StepStatus


class Effect(StrEnum):
    """How an ended source counts for one dependant."""

    SATISFIED = "satisfied"
    FAILED = "failed"
    UPSTREAM_FAILED = "upstream_failed"
    SKIPPED = "skipped"
    UNSATISFIED = "unsatisfied"  # it ended well, but no edge asked for that end


class Decision(StrEnum):
    WAIT = "wait"
    RUN = "run"
    SKIP = "skip"
    UPSTREAM_FAILED = "upstream_failed"
    UNREACHABLE = "unreachable"
    EDGE_ERROR = "edge_error"


@dataclass(frozen=True, slots=True)
class Tally:
    """How a step's distinct sources stand. `edge_errors` counts sources with an edge `when` that failed."""

    total: int
    remaining: int
    satisfied: int = 0
    failed: int = 0
    upstream_failed: int = 0
    skipped: int = 0
    edge_errors: int = 0

    @property
    def done(self) -> int:
        return self.total - self.remaining

    @property
    def failures(self) -> int:
        return self.failed + self.upstream_failed


def edge_satisfied(on: EdgeOn, source: Step, status: StepStatus) -> bool:
    """Whether the end `status` of `source` is one the edge asks for, its `when` aside."""
    failed, succeeded = status is StepStatus.FAILED, status is StepStatus.SUCCEEDED
    if on is EdgeOn.SUCCESS:
        return succeeded or (failed and source.on_error is OnError.CONTINUE)
    if on is EdgeOn.FAILURE:
        return failed
    if on is EdgeOn.COMPLETE:
        return succeeded or failed
    return status is StepStatus.SKIPPED


def effect(
    step: Step, edges: Iterable[tuple[int, Edge]], source: Step, status: StepStatus, truth: Mapping[int, bool]
) -> Effect:
    """How `source`, ended with `status`, counts for `step`.

    `edges` are those from the source, each with its index; `truth` holds evaluated edge conditions by that index.
    """
    if step.trigger_rule is not None:
        if edge_satisfied(EdgeOn.SUCCESS, source, status):
            return Effect.SATISFIED
    elif any(edge_satisfied(edge.on, source, status) and truth.get(i, True) for i, edge in edges):
        return Effect.SATISFIED
    return _UNSATISFIED[status]


_UNSATISFIED = {
    StepStatus.SUCCEEDED: Effect.UNSATISFIED,
    StepStatus.FAILED: Effect.FAILED,
    StepStatus.UPSTREAM_FAILED: Effect.UPSTREAM_FAILED,
    StepStatus.CANCELED: Effect.UPSTREAM_FAILED,
    StepStatus.SKIPPED: Effect.SKIPPED,
}


def decide(step: Step, tally: Tally) -> Decision:
    """What `tally` decides for `step`, its own `when` aside."""
    if tally.total == 0:
        return Decision.RUN
    if step.trigger_rule is not None:
        return _decide_rule(step.trigger_rule, tally)
    return _decide_join(step, tally)


def needed(step: Step, total: int) -> int:
    """How many distinct sources must be satisfied."""
    if step.join == "all":
        return total
    return 1 if step.join == "any" else int(step.join)


def _decide_join(step: Step, t: Tally) -> Decision:
    need = needed(step, t.total)
    if t.satisfied >= need:
        # With every source needed, a condition that failed is needed too, though another edge of its source holds.
        return Decision.EDGE_ERROR if t.edge_errors and need == t.total else Decision.RUN
    if t.satisfied + t.remaining >= need:
        return Decision.WAIT
    return _not_reached(step, t)


def _not_reached(step: Step, t: Tally) -> Decision:
    """The join is out of reach; what that means may still hang on the sources that are open."""
    fails = step.on_unreachable is OnUnreachable.FAIL
    certain = t.satisfied > 0 if fails else t.failures > 0
    if t.remaining and (not certain or any(edge.when for edge in step.depends_on)):
        return Decision.WAIT
    if t.edge_errors:
        return Decision.EDGE_ERROR
    if fails and t.satisfied:
        return Decision.UNREACHABLE
    return Decision.UPSTREAM_FAILED if t.failures else Decision.SKIP


def _decide_rule(rule: TriggerRule, t: Tally) -> Decision:
    """Airflow's table (TriggerRuleDep of airflow-core 3.1, with flag_upstream_failed)."""
    if _rule_met(rule, t):
        return Decision.RUN
    return _rule_missed(rule, t)


def _rule_met(rule: TriggerRule, t: Tally) -> bool:
    all_done = t.remaining == 0
    match rule:
        case TriggerRule.ALL_SUCCESS:
            return t.satisfied == t.total
        case TriggerRule.ALL_FAILED:
            return t.failures == t.total
        case TriggerRule.ALL_DONE:
            return all_done
        case TriggerRule.ALL_DONE_MIN_ONE_SUCCESS:
            return all_done and t.satisfied > 0 and not t.skipped
        case TriggerRule.ALL_SKIPPED:
            return t.skipped == t.total
        case TriggerRule.ONE_SUCCESS:
            return t.satisfied > 0
        case TriggerRule.ONE_FAILED:
            return t.failures > 0
        case TriggerRule.ONE_DONE:
            return t.satisfied + t.failed > 0
        case TriggerRule.NONE_FAILED:
            return all_done and not t.failures
        case TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS:
            return all_done and not t.failures and t.satisfied > 0
        case TriggerRule.NONE_SKIPPED:
            return all_done and not t.skipped
        case TriggerRule.ALWAYS:
            return True


def _rule_missed(rule: TriggerRule, t: Tally) -> Decision:
    """The decision when the rule is not met: it may come later than Airflow's, once all sources have ended."""
    if t.remaining:
        return Decision.WAIT
    failed = t.failures > 0 and rule in _FAILS_UPSTREAM
    if rule is TriggerRule.ALL_DONE_MIN_ONE_SUCCESS and t.skipped:
        failed = False
    return Decision.UPSTREAM_FAILED if failed else Decision.SKIP


_FAILS_UPSTREAM = frozenset(
    {
        TriggerRule.ALL_SUCCESS,
        TriggerRule.NONE_FAILED,
        TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS,
        TriggerRule.ONE_SUCCESS,
        TriggerRule.ALL_DONE_MIN_ONE_SUCCESS,
    }
)

_FAILURES = frozenset({Effect.FAILED, Effect.UPSTREAM_FAILED})
_DECISIVE = {
    TriggerRule.ALL_SUCCESS: _FAILURES | {Effect.SKIPPED},
    TriggerRule.ALL_FAILED: frozenset({Effect.SATISFIED, Effect.SKIPPED}),
    TriggerRule.ALL_DONE_MIN_ONE_SUCCESS: frozenset({Effect.SKIPPED}),
    TriggerRule.ALL_SKIPPED: _FAILURES | {Effect.SATISFIED},
    TriggerRule.NONE_FAILED: _FAILURES,
    TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS: _FAILURES,
    TriggerRule.NONE_SKIPPED: frozenset({Effect.SKIPPED}),
}


def decisive(rule: TriggerRule) -> frozenset[Effect]:
    """The effects of one source that alone decide in Airflow that the step does not run."""
    return _DECISIVE.get(rule, frozenset())


_STARTS_EARLY = frozenset({TriggerRule.ONE_SUCCESS, TriggerRule.ONE_FAILED, TriggerRule.ONE_DONE, TriggerRule.ALWAYS})


def waits_for_all(step: Step, total: int) -> bool:
    """Whether the step starts only when all its `total` sources have ended."""
    if step.trigger_rule is not None:
        return step.trigger_rule not in _STARTS_EARLY
    return needed(step, total) >= total
