"""What follows, in one run, from steps having ended: their dependants' tallies, and who starts, is skipped or fails.

Rows are asked for in ascending position and each only once, so that whoever locks them as asked never deadlocks
with another (docs/adr/0003).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from orchestrator.domain.definition import Edge, StepKind, TriggerRule
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.outcome import ErrorInfo
from orchestrator.domain.precedence import Past, PastEnd
from orchestrator.domain.rules import Decision, Effect, Tally, decide, edge_satisfied, effect
from orchestrator.domain.states import STEP_TERMINAL, Reason, StepStatus
from orchestrator.errors import ExpressionError


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a step as its dependants see it."""

    position: int
    status: StepStatus
    output: Any = None
    error: Mapping[str, Any] | None = None
    attempt: int = 0
    items: Mapping[str, int] | None = None  # of a step with items: how many ended as what


@dataclass(frozen=True, slots=True)
class StepRow:
    """What the cascade needs of a step's row. `edge_truth` holds evaluated edge conditions by edge index."""

    position: int
    status: StepStatus
    tally: Tally
    edge_truth: Mapping[str, bool | str] = field(default_factory=dict)
    queue: str | None = None  # where a READY step goes
    held: bool = False  # by an operator


@dataclass(frozen=True, slots=True)
class Change:
    """A row's new tally, and the state decided for it (None: unchanged). READY means its conditions are met.

    `queue` is where a step goes that is READY, now or still.
    """

    position: int
    tally: Tally
    edge_truth: Mapping[str, bool | str]
    status: StepStatus | None = None
    reason: Reason | None = None
    error: ErrorInfo | None = None
    output: Any = None
    queue: str | None = None


@dataclass(frozen=True, slots=True)
class Cascade:
    """All changes in ascending position. `may_be_over`: a step ended and left none of its dependants open."""

    changes: tuple[Change, ...]
    may_be_over: bool


class Judge(Protocol):
    """Evaluates what needs the run's data. Each method may raise `ExpressionError`."""

    def edge_holds(self, edge: Edge, source: Ended) -> bool: ...

    def step_holds(self, step: PlanStep) -> bool: ...

    def queue_of(self, step: PlanStep) -> str:
        """The queue of a step that starts now."""

    def pass_output(self, step: PlanStep) -> Any:
        """The output of a `pass` step that starts now (its rendered input)."""

    def publish_failure(self, step: PlanStep, error: ErrorInfo) -> ErrorInfo:
        """Set what a step publishes that fails for good; its error, with what went wrong in that. Raises nothing."""

    def note(self, ended: Ended) -> None:
        """A step ended within the cascade; later conditions may read it."""

    def past_ends(self, positions: Sequence[int]) -> Mapping[int, PastEnd]:
        """How the steps at `positions` stand, apart from what ends in this cascade."""


Fetch = Callable[[Sequence[int]], Mapping[int, StepRow]]


def cascade(plan: Plan, ended: Iterable[Ended], fetch: Fetch, judge: Judge, roots: Iterable[int] = ()) -> Cascade:
    """Follow `ended` (and `roots`, steps with no sources that may start) through the graph."""
    return _Walk(plan, fetch, judge).run(ended, roots)


class _Walk:
    def __init__(self, plan: Plan, fetch: Fetch, judge: Judge) -> None:
        self.plan, self.fetch, self.judge = plan, fetch, judge
        self.heap: list[int] = []
        self.inbox: dict[int, list[Ended]] = {}
        self.ended: list[int] = []
        self.statuses: dict[int, StepStatus] = {}
        self.past = Past(plan, judge.past_ends)
        self.changes: list[Change] = []

    def run(self, ended: Iterable[Ended], roots: Iterable[int]) -> Cascade:
        for root in roots:
            self._expect(root)
        for end in ended:
            self.past.end(end.position, PastEnd(end.status))
            self._tell_dependants(end)
        while self.heap:
            batch = self._next_batch()
            rows = self.fetch(batch)
            for position in batch:
                if position in rows:
                    self._step(self.plan.at(position), rows[position], self.inbox.pop(position))
        return Cascade(tuple(self.changes), any(map(self._left_none_open, self.ended)))

    def _tell_dependants(self, end: Ended) -> None:
        self.ended.append(end.position)
        for dependant in self.plan.at(end.position).dependants:
            self._expect(dependant)
            self.inbox[dependant].append(end)

    def _expect(self, position: int) -> None:
        if position not in self.inbox:
            self.inbox[position] = []
            heapq.heappush(self.heap, position)

    def _next_batch(self) -> list[int]:
        """Positions that no step of the same batch can still reach, ascending."""
        batch: list[int] = []
        horizon = None
        while self.heap and (horizon is None or self.heap[0] < horizon):
            position = heapq.heappop(self.heap)
            batch.append(position)
            below = self.plan.at(position).dependants
            if below and (horizon is None or below[0] < horizon):
                horizon = below[0]
        return batch

    def _step(self, step: PlanStep, row: StepRow, ends: list[Ended]) -> None:
        truth = dict(row.edge_truth)
        tally = row.tally
        for end in ends:
            tally = self._count(step, tally, end, truth)
        change = Change(step.position, tally, truth)
        if row.status is StepStatus.PENDING:
            change = self._published(step, self._decided(step, change, row.held))
        elif row.status is StepStatus.READY:
            # Whoever made it ready may have passed over it while we held its row.
            change = replace(change, queue=row.queue)
        self.changes.append(change)
        self.statuses[step.position] = change.status or row.status
        if change.status in STEP_TERMINAL:
            self.past.end(step.position, PastEnd(change.status, change.reason))
            end = Ended(step.position, change.status, change.output, change.error.as_json() if change.error else None)
            self.judge.note(end)
            self._tell_dependants(end)

    def _count(self, step: PlanStep, tally: Tally, end: Ended, truth: dict[str, bool | str]) -> Tally:
        source = self.plan.at(end.position)
        errors = self._evaluate_edges(step, source, end, truth)
        edges = step.edges_from(source.name)
        holds = {index: truth[str(index)] is True for index, _ in edges if str(index) in truth}
        return counted(tally, effect(step.step, edges, source.step, end.status, holds), errors)

    def _evaluate_edges(self, step: PlanStep, source: PlanStep, end: Ended, truth: dict[str, bool | str]) -> int:
        """Evaluate the conditions of this source's edges, once; how many of them failed (0 or 1 a source)."""
        failed = 0
        for index, edge in step.edges_from(source.name):
            if edge.when is None or not edge_satisfied(edge.on, source.step, end.status):
                continue
            try:
                truth[str(index)] = self.judge.edge_holds(edge, end)
            except ExpressionError as error:
                truth[str(index)] = str(error)
                failed = 1
        return failed

    def _decided(self, step: PlanStep, change: Change, held: bool) -> Change:
        match decide(step.step, change.tally):
            case Decision.WAIT:
                return change
            case Decision.RUN if held and step.step.kind is StepKind.PASS:  # it would start and end at once
                return change
            case Decision.RUN:
                return self._start(step, change)
            case Decision.SKIP:
                return replace(change, status=StepStatus.SKIPPED, reason=Reason.NOT_TRIGGERED)
            case Decision.UPSTREAM_FAILED if self._skip_came_first(step, change.tally):
                return replace(change, status=StepStatus.SKIPPED, reason=Reason.NOT_TRIGGERED)
            case Decision.UPSTREAM_FAILED:
                return replace(change, status=StepStatus.UPSTREAM_FAILED, reason=Reason.UPSTREAM)
            case Decision.UNREACHABLE:
                return _failed(change, Reason.UNREACHABLE, ErrorInfo("Unreachable", _unreachable(step, change.tally)))
            case Decision.EDGE_ERROR:
                message = next(str(text) for text in change.edge_truth.values() if isinstance(text, str))
                return _failed(change, Reason.CONDITION_ERROR, ErrorInfo("ExpressionError", message))

    def _published(self, step: PlanStep, change: Change) -> Change:
        """A step may fail without an attempt; it publishes what any other does that fails."""
        if change.error is None:
            return change
        return replace(change, error=self.judge.publish_failure(step, change.error))

    def _skip_came_first(self, step: PlanStep, tally: Tally) -> bool:
        if step.step.trigger_rule is not TriggerRule.ALL_SUCCESS or not tally.skipped:
            return False
        return self.past.skip_came_first(step)

    def _start(self, step: PlanStep, change: Change) -> Change:
        try:
            if step.step.when is not None and not self.judge.step_holds(step):
                return replace(change, status=StepStatus.SKIPPED, reason=Reason.CONDITION)
        except ExpressionError as error:
            message = f"its `when` could not be evaluated: {error}"
            return _failed(change, Reason.CONDITION_ERROR, ErrorInfo("ExpressionError", message))
        try:
            if step.step.kind is StepKind.PASS:
                return replace(change, status=StepStatus.SUCCEEDED, output=self.judge.pass_output(step))
            return replace(change, status=StepStatus.READY, queue=self.judge.queue_of(step))
        except ExpressionError as error:
            return _failed(change, Reason.ERROR, ErrorInfo("ExpressionError", str(error)))

    def _left_none_open(self, position: int) -> bool:
        below = self.plan.at(position).dependants
        return all(self.statuses.get(dependant) in STEP_TERMINAL for dependant in below)


def counted(tally: Tally, how: Effect, edge_errors: int = 0) -> Tally:
    """`tally` with one more source ended."""
    return Tally(
        total=tally.total,
        remaining=tally.remaining - 1,
        satisfied=tally.satisfied + (how is Effect.SATISFIED),
        failed=tally.failed + (how is Effect.FAILED),
        upstream_failed=tally.upstream_failed + (how is Effect.UPSTREAM_FAILED),
        skipped=tally.skipped + (how is Effect.SKIPPED),
        edge_errors=tally.edge_errors + edge_errors,
    )


def _failed(change: Change, reason: Reason, error: ErrorInfo) -> Change:
    return replace(change, status=StepStatus.FAILED, reason=reason, error=error)


def _unreachable(step: PlanStep, tally: Tally) -> str:
    return (
        f"its join can no longer be met: {tally.satisfied} of {tally.total} sources satisfied,"
        f" join: {step.step.join} wanted more"
    )
