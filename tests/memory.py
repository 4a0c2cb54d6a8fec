"""The pure part of the engine alone: a run whose rows live in a dict, driven end by end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from orchestrator.domain.cascade import Cascade, Ended, StepRow, cascade
from orchestrator.domain.definition import Definition, Edge, Step
from orchestrator.domain.graph import PlanStep, make_plan
from orchestrator.domain.outcome import ErrorInfo
from orchestrator.domain.precedence import PastEnd
from orchestrator.domain.recount import recount
from orchestrator.domain.rules import Decision, Tally, decide
from orchestrator.domain.states import Reason, StepStatus
from orchestrator.errors import ExpressionError


class MemoryRun:
    """A run of these steps. Edge conditions are the words yes, no and broken."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.plan = make_plan(Definition("w", tuple(steps)))
        self.reasons: dict[int, Reason | None] = {}
        self.asked: list[int] = []
        self.looked: list[int] = []
        self.rows = {}
        for step in self.plan.steps:
            total = len(step.sources)
            self.rows[step.position] = StepRow(step.position, StepStatus.PENDING, Tally(total, total))
        fresh = self.rows.values()
        self._cascade([], [r.position for r in fresh if decide(self.plan.at(r.position).step, r.tally) is Decision.RUN])

    def end(self, name: str, status: StepStatus) -> Cascade:
        """End a step that is ready."""
        position = self.plan.positions[name]
        row = self.rows[position]
        assert row.status is StepStatus.READY, f"{name} ended while it was {row.status}"
        self.rows[position] = StepRow(position, status, row.tally, row.edge_truth)
        self.reasons[position] = Reason.FUNCTION if status is StepStatus.SKIPPED else None
        return self._cascade([Ended(position, status)])

    @property
    def ready(self) -> list[str]:
        """Steps that may run now, in the graph's order."""
        return [self.plan.at(p).name for p, row in self.rows.items() if row.status is StepStatus.READY]

    @property
    def statuses(self) -> dict[str, StepStatus]:
        return {self.plan.at(p).name: row.status for p, row in self.rows.items()}

    @property
    def tallies(self) -> dict[int, tuple[Tally, dict[str, bool | str]]]:
        """Tallies and edge truths as kept."""
        return {p: (row.tally, dict(row.edge_truth)) for p, row in self.rows.items()}

    def recounted(self) -> dict[int, tuple[Tally, dict[str, bool | str]]]:
        """Tallies and edge truths counted afresh."""
        statuses = {p: row.status for p, row in self.rows.items()}
        return recount(self.plan, statuses, {p: row.edge_truth for p, row in self.rows.items()})

    def _cascade(self, ended: Iterable[Ended], roots: Iterable[int] = ()) -> Cascade:
        result = cascade(self.plan, ended, self._fetch, self, roots)
        for change in result.changes:
            status = change.status or self.rows[change.position].status
            self.rows[change.position] = StepRow(change.position, status, change.tally, change.edge_truth)
            if change.status is not None:
                self.reasons[change.position] = change.reason
        return result

    def _fetch(self, positions: Sequence[int]) -> dict[int, StepRow]:
        self.asked.extend(positions)
        return {p: self.rows[p] for p in positions}

    # The judge of a cascade.

    def edge_holds(self, edge: Edge, source: Ended) -> bool:
        if edge.when == "broken":
            raise ExpressionError("broken")
        return edge.when != "no"

    def step_holds(self, step: PlanStep) -> bool:
        return True

    def queue_of(self, step: PlanStep) -> str:
        return "default"

    def pass_output(self, step: PlanStep) -> None:
        return None

    def publish_failure(self, step: PlanStep, error: ErrorInfo) -> ErrorInfo:
        return error

    def note(self, ended: Ended) -> None:
        return None

    def past_ends(self, positions: Sequence[int]) -> Mapping[int, PastEnd]:
        self.looked.extend(positions)
        return {p: PastEnd(self.rows[p].status, self.reasons.get(p)) for p in positions}
