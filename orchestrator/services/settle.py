"""Store an attempt's outcome and everything that follows from it, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.blobs import loads
from orchestrator.domain.cascade import Ended
from orchestrator.domain.definition import StepKind
from orchestrator.domain.graph import PlanStep
from orchestrator.domain.items import is_item
from orchestrator.domain.outcome import (
    Again,
    AttemptFacts,
    End,
    ErrorInfo,
    Outcome,
    OutcomeKind,
    Suspension,
    verdict,
)
from orchestrator.domain.states import Reason, RunStatus, StepStatus
from orchestrator.errors import ExpressionError
from orchestrator.services.advance import advance
from orchestrator.services.advanced import Advanced
from orchestrator.services.after_commit import now_or_later
from orchestrator.services.begun import attempted
from orchestrator.services.blobs import unhurried
from orchestrator.services.claim import Claimed, claimed_from
from orchestrator.services.end_item import end_item
from orchestrator.services.engine import Engine
from orchestrator.services.halt import follow_up
from orchestrator.services.pass_down import pass_from
from orchestrator.services.scope import RunScope
from orchestrator.services.stop_items import stop_items
from orchestrator.store import events, item_rows, logs, pools, results, steps, transition
from orchestrator.store.item_rows import Fan
from orchestrator.store.logs import LogLine
from orchestrator.store.transition import Lease


@dataclass(frozen=True, slots=True)
class Settled:
    """`stale`: the claim no longer held and nothing was stored. `next`: the step the same worker goes on with.

    `queues` have steps to dispatch.
    """

    stale: bool = False
    next: Claimed | None = None
    queues: frozenset[str] = frozenset()


def settle(
    engine: Engine,
    claimed: Claimed,
    outcome: Outcome,
    *,
    input_json: str | None = None,
    lines: Sequence[LogLine] = (),
    take_next: Lease | None = None,
) -> Settled:
    """Settle an attempt. With `take_next`, one step it made ready on the same queue is claimed on the spot."""

    def store() -> tuple[_Settling, Settled, Advanced]:
        with engine.db.transaction() as conn:
            settling = _Settling(engine, conn, claimed, input_json, lines, take_next)
            settled, advanced = settling.run(outcome)
            return settling, replace(settled, queues=settled.queues | settling.freed()), advanced

    settling, settled, advanced = unhurried(store)
    queues = settled.queues | follow_up(engine, claimed.run_id, replace(advanced, ready=()))
    if settling.stopping is not None:
        queues |= stop_items(engine, claimed.run_id, settling.stopping)
    if outcome.suspension is not None and outcome.suspension.then is not None:
        queues |= now_or_later(outcome.suspension.then)
    elif settling.step.kind is StepKind.WORKFLOW and outcome.kind is not OutcomeKind.SUCCEEDED:
        # Its child may go on, for which it no longer waits.
        queues |= now_or_later(lambda: pass_from(engine, claimed.step_id))
    return replace(settled, queues=queues)


class _Settling:
    def __init__(
        self,
        engine: Engine,
        conn: Connection,
        claimed: Claimed,
        input_json: str | None,
        lines: Sequence[LogLine],
        take_next: Lease | None,
    ) -> None:
        self.engine, self.conn, self.claimed = engine, conn, claimed
        self.input_json, self.lines, self.take_next = input_json, lines, take_next
        plan = engine.plans.get(conn, claimed.revision_id)
        self.step = attempted(engine, plan, claimed)
        self.scope = RunScope(engine, conn, plan, claimed.run_id)
        self.owner = plan.owner(claimed.position)
        self.fan: Fan | None = None
        self.stopping: int | None = None  # the position of a step whose items are to be stopped

    def run(self, outcome: Outcome) -> tuple[Settled, Advanced]:
        if self.owner is not None:  # before its item's row
            self.fan = item_rows.lock_owner(self.conn, self.claimed.run_id, self.owner.position)
        if self.lines and not logs.append_logs(self.conn, self.claimed.step_id, self.claimed.token, self.lines):
            return Settled(stale=True), Advanced()
        if outcome.suspension is not None:
            return self._suspend(outcome, outcome.suspension)
        if outcome.output is None and outcome.output_json is not None:
            outcome = replace(outcome, output=loads(outcome.output_json))
        if outcome.kind is OutcomeKind.SUCCEEDED:
            outcome = self._publish(outcome)
        if outcome.kind is OutcomeKind.SUCCEEDED:
            ended = self._end(outcome, End(StepStatus.SUCCEEDED, Reason.CACHED if outcome.cached else None))
            if not ended[0].stale:
                self._keep(outcome)
            return ended
        return self._judge(outcome)

    def _keep(self, outcome: Outcome) -> None:
        """A result that may be used again is stored with the step's end, and its row locked last (docs/adr/0003)."""
        keep, output_json = outcome.keep, outcome.output_json
        if keep is None or output_json is None:
            return
        place = results.Place(self.scope.facts.app, self.step.function or "", keep.key)
        results.keep_result(self.conn, place, output_json, keep.ttl)

    def freed(self) -> frozenset[str]:
        """The queue of the step that is next for the pool's slots this attempt has given back."""
        return frozenset() if self.step.pool is None else pools.next_queue(self.conn, self.step.pool)

    def _publish(self, outcome: Outcome) -> Outcome:
        """Set the run variables the step publishes; what cannot be rendered fails the attempt, for good."""
        try:
            self.scope.publish(self.step.publish, {"result": outcome.output})
        except ExpressionError as error:
            return Outcome.failed(
                ErrorInfo("ExpressionError", f"publish: {error}", classes=("ExpressionError",)), final=True
            )
        return outcome

    def _suspend(self, outcome: Outcome, suspension: Suspension) -> tuple[Settled, Advanced]:
        """Let it wait without a worker; one that was asked to stop meanwhile ends instead."""
        row = steps.lock_attempt(self.conn, self.claimed.step_id, self.claimed.token)
        if row is None:
            return Settled(stale=True), Advanced()
        if row.cancel_requested:
            return self._end(replace(outcome, kind=OutcomeKind.CANCELED), End(StepStatus.CANCELED, Reason.CANCELED))
        id, wait = self.claimed.step_id, suspension.wait
        transition.suspend_attempt(self.conn, id, self.claimed.token, wait, suspension.seconds, self.input_json)
        if self.owner is None and self.step.kind is not StepKind.CODE:  # of items and turns there may be very many
            told = {"step": self.step.name, "for": wait["for"]}
            events.record(self.conn, self.claimed.run_id, "step.waiting", told, id)
        come = suspension.also is not None and suspension.also(self.conn)
        return Settled(queues=frozenset(transition.wake(self.conn, [id]) if come else ())), Advanced()

    def _judge(self, outcome: Outcome) -> tuple[Settled, Advanced]:
        row = steps.lock_attempt(self.conn, self.claimed.step_id, self.claimed.token)
        if row is None:
            return Settled(stale=True), Advanced()
        outcome, facts = self._facts(row, outcome)
        follows = verdict(self.step, facts, outcome, self.engine.random())
        if isinstance(follows, Again):
            return self._again(outcome, follows), Advanced()
        return self._end(outcome, follows)

    def _facts(self, row: Row[Any], outcome: Outcome) -> tuple[Outcome, AttemptFacts]:
        lost = row.lost_count + (outcome.kind is OutcomeKind.LOST)
        used = row.attempt - row.attempt_base - row.lost_count
        policy = self.step.retry
        allowed = row.max_attempts or (policy.max_attempts if policy else 1)
        wanted, outcome = self._retry_wanted(outcome.as_asked(cancel_requested=row.cancel_requested), used)
        return outcome, AttemptFacts(
            attempt=used,
            max_attempts=allowed,
            lost_count=lost,
            max_lost=self.engine.settings.max_lost,
            cancel_requested=row.cancel_requested,
            total_seconds_left=row.total_seconds_left,
            retry_wanted=wanted,
        )

    def _retry_wanted(self, outcome: Outcome, used: int) -> tuple[bool, Outcome]:
        condition = self.step.retry.while_ if self.step.retry else None
        if condition is None or outcome.kind is OutcomeKind.LOST:
            return True, outcome
        try:
            return self.scope.evaluate(
                condition, {"error": _shown(outcome.error), "result": None, "attempt": used}
            ), outcome
        except ExpressionError as error:
            told = outcome.error or ErrorInfo("Error", outcome.kind)
            return False, replace(outcome, error=replace(told, message=f"{told.message}\nretry.while failed: {error}"))

    def _again(self, outcome: Outcome, again: Again) -> Settled:
        moved = transition.retry_attempt(
            self.conn,
            self.claimed.step_id,
            self.claimed.token,
            again.delay,
            outcome=outcome.kind.value,
            error=again.error,
            lost=outcome.kind is OutcomeKind.LOST,
            input_json=self.input_json,
        )
        told = {
            "step": self.step.name,
            "attempt": self.claimed.attempt,
            "delay": again.delay,
            "error": _shown(again.error),
        }
        kind = "step.lost" if outcome.kind is OutcomeKind.LOST else "step.retry"
        if not is_item(self.claimed.position):  # whose attempts tell the same
            events.record(self.conn, self.claimed.run_id, kind, told, self.claimed.step_id)
        return Settled(stale=not moved, queues=frozenset() if again.delay else frozenset({self.claimed.queue}))

    def _end(self, outcome: Outcome, end: End) -> tuple[Settled, Advanced]:
        if end.status is StepStatus.FAILED:
            end = self._publish_failure(end)
        elif end.status is StepStatus.CANCELED:
            end = self._why_canceled(end)
        if not self._finish(outcome, end):
            return Settled(stale=True), Advanced()
        if self.step.kind is StepKind.CODE and end.status is not StepStatus.CANCELED:
            self._stop_begun()
        if end.status is StepStatus.FAILED and not is_item(self.claimed.position):
            told = {"step": self.step.name, "reason": end.reason, "error": _shown(end.error)}
            events.record(self.conn, self.claimed.run_id, "step.failed", told, self.claimed.step_id)
        if self.owner is not None and self.fan is not None:
            return self._end_item(self.owner, self.fan, end)
        items = None if self.step.with_items is None else self._count_items(end)
        shown = _shown(end.error) if end.status is StepStatus.FAILED else None
        ended = Ended(self.claimed.position, end.status, outcome.output, shown, self.claimed.attempt, items)
        advanced = advance(self.conn, self.scope, [ended])
        return self._follow(advanced), advanced

    def _stop_begun(self) -> None:
        """What its function has begun and left open is stopped."""
        owner = item_rows.lock_owner(self.conn, self.claimed.run_id, self.claimed.position)
        if owner is not None and owner.open:
            item_rows.note_stop(self.conn, self.claimed.run_id, self.claimed.position, Reason.LEFT)
            self.stopping = self.claimed.position

    def _count_items(self, end: End) -> Mapping[str, int] | None:
        """How its items ended; what is open of them when the step fails without them is stopped afterwards."""
        if end.status in (StepStatus.FAILED, StepStatus.CANCELED):
            first = self.scope.plan.first_item(self.claimed.position)
            item_rows.recount(self.conn, self.claimed.run_id, first)
        if end.status is StepStatus.FAILED:
            self.stopping = self.claimed.position
        return item_rows.load_counts(self.conn, self.claimed.step_id)

    def _end_item(self, owner: PlanStep, fan: Fan, end: End) -> tuple[Settled, Advanced]:
        ended = end_item(self.conn, self.scope, owner, fan, end.status)
        self.stopping = owner.position if ended.stopping else None
        return Settled(queues=ended.queues | ended.closing.queues), ended.closing

    def _finish(self, outcome: Outcome, end: End) -> bool:
        return transition.finish_attempt(
            self.conn,
            self.claimed.step_id,
            self.claimed.token,
            end.status,
            outcome=outcome.kind.value,
            reason=end.reason,
            error=end.error,
            output_json=outcome.output_json if end.status is StepStatus.SUCCEEDED else None,
            input_json=self.input_json,
        )

    def _why_canceled(self, end: End) -> End:
        """A drain asks steps to stop too, those that have items to make (services/halt_items.py)."""
        drained = self.step.with_items is not None and self.scope.facts.status is not RunStatus.CANCELING
        return replace(end, reason=Reason.DRAIN) if drained else end

    def _publish_failure(self, end: End) -> End:
        if not self.step.publish_on_failure and self.step.literal:
            return end
        error = end.error or ErrorInfo("Error", str(end.reason))
        return replace(end, error=self.scope.publish_failure(self.scope.plan.at(self.claimed.position), error))

    def _follow(self, advanced: Advanced) -> Settled:
        """What may start now: one step for this worker, the rest for the queues."""
        queues = advanced.queues
        if self.take_next is None or advanced.halting:
            return Settled(queues=queues)
        mine = next((position for position, queue in advanced.ready if queue == self.claimed.queue), None)
        row = None if mine is None else transition.take(self.conn, self.claimed.run_id, mine, self.take_next)
        if row is None:
            return Settled(queues=queues)
        rest = advanced.others.union(queue for position, queue in advanced.ready if position != mine)
        return Settled(next=claimed_from(row), queues=rest)


def _shown(error: ErrorInfo | None) -> Mapping[str, Any] | None:
    return {"type": error.type, "message": error.message} if error else None
