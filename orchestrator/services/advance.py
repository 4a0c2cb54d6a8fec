"""Re-evaluate what depends on steps that ended, in the transaction that ends them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from orchestrator.domain.cascade import Cascade, Change, Ended, cascade
from orchestrator.domain.definition import FailureMode, OnError
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import Reason, StepStatus
from orchestrator.services.advanced import Advanced
from orchestrator.services.close import close_run
from orchestrator.services.scope import RunScope
from orchestrator.services.unhandled import any_certainly_unhandled
from orchestrator.store import events, runs, steps, transition

# A cascade ends a step in one of these without having started it.
_DID_NOT_RUN = (StepStatus.SKIPPED, StepStatus.UPSTREAM_FAILED, StepStatus.FAILED)


def advance(conn: Connection, scope: RunScope, ended: Sequence[Ended], roots: Iterable[int] = ()) -> Advanced:
    """Follow `ended` through the graph, store what follows, and end the run if nothing of it is open."""
    for end in ended:
        scope.note(end)
    result = cascade(scope.plan, ended, lambda positions: steps.lock_steps(conn, scope.run_id, positions), scope, roots)
    transition.apply_changes(conn, scope.run_id, result.changes)
    return conclude(conn, scope, ended, result)


def conclude(conn: Connection, scope: RunScope, ended: Sequence[Ended], result: Cascade) -> Advanced:
    """What a stored cascade means for the run: its variables, its events, a halt, its end."""
    _record(conn, scope, result.changes)
    if scope.published:
        runs.publish_vars(conn, scope.run_id, scope.published)
    halting = _request_halt(conn, scope, ended, result)
    closing = close_run(conn, scope, advance) if result.may_be_over else Advanced()
    ready = _ready(result.changes) + closing.ready
    return Advanced(ready, halting or closing.halting, closing.others, closing.child_over)


def _ready(changes: Iterable[Change]) -> tuple[tuple[int, str], ...]:
    return tuple((c.position, c.queue) for c in changes if c.status in (StepStatus.READY, None) and c.queue)


def _record(conn: Connection, scope: RunScope, changes: Iterable[Change]) -> None:
    failed = [(None, {"step": scope.plan.at(c.position).name, "reason": c.reason}) for c in changes if _failed(c)]
    if failed:
        events.record_all(conn, scope.run_id, "step.failed", failed)


def _failed(change: Change) -> bool:
    return change.status is StepStatus.FAILED


def _request_halt(conn: Connection, scope: RunScope, ended: Sequence[Ended], result: Cascade) -> bool:
    """Note a failure that stops the run: an `abort`, or under drain and cancel any that nothing will handle."""
    failed = [e.position for e in ended if e.status is StepStatus.FAILED]
    failed += [c.position for c in result.changes if _failed(c)]
    plan = scope.plan
    reason = None
    if any(_in_graph(plan, p) and plan.at(p).step.on_error is OnError.ABORT for p in failed):
        reason = Reason.ABORT
    elif _failure_stops(conn, scope, failed, result):
        reason = Reason.DRAIN if plan.definition.failure_mode is FailureMode.DRAIN else Reason.RUN_FAILED
    if reason is not None:
        runs.request_halt(conn, scope.run_id, reason.value)
    return reason is not None


def _failure_stops(conn: Connection, scope: RunScope, failed: Sequence[int], result: Cascade) -> bool:
    if scope.plan.definition.failure_mode is FailureMode.RUN_ON:
        return False
    missed = [change.position for change in result.changes if change.status in _DID_NOT_RUN]
    return any_certainly_unhandled(conn, scope.plan, scope.run_id, failed, missed)


def _in_graph(plan: Plan, position: int) -> bool:
    return position < len(plan.steps)
