"""Steps as a page lists and draws them: without inputs and outputs, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.states import StepStatus
from orchestrator.errors import NotFound
from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.reads.brief import BRIEF, StepBrief, step_brief
from orchestrator.store.reads.runs import like
from orchestrator.store.reads.shown import SHOWN


@dataclass(frozen=True, slots=True)
class StepFilters:
    """All given ones must hold. `name` is a part of it, in any case; positions from `first` to `last`."""

    statuses: Sequence[StepStatus] = ()
    name: str = ""
    first: int = 0
    last: int | None = None


_CONDITIONS = {
    "statuses": "AND s.status = ANY(:statuses)",
    "name": "AND s.name ILIKE :name",
    "last": "AND s.position <= :last",
}


def list_step_rows(
    conn: Connection, run_id: str, filters: StepFilters, after: int | None = None, limit: int = 100
) -> tuple[list[StepBrief], int | None]:
    """Steps in graph order, from after the position `after` on; and the cursor to what follows."""
    given: dict[str, Any] = {}
    if filters.statuses:
        given["statuses"] = [status.value for status in filters.statuses]
    if filters.name:
        given["name"] = f"%{like(filters.name)}%"
    if filters.last is not None:
        given["last"] = filters.last
    some = " ".join(["AND s.position >= :first", *(_CONDITIONS[name] for name in given)])
    first = max(filters.first, -1 if after is None else after + 1)
    values = given | {"run_id": run_id, "first": first, "limit": limit + 1}
    rows = [step_brief(row) for row in conn.execute(text(BRIEF.format(which=f"s.{STEPS_ONLY} {some}")), values)]
    return rows[:limit], rows[limit - 1].position if len(rows) > limit else None


_NAME = text(f"""
SELECT name FROM {SHOWN} s WHERE run_id = :run_id AND position = :position AND {STEPS_ONLY}
""")


def step_name(conn: Connection, run_id: str, position: int) -> str:
    """The name of the step at this position; raises `NotFound`."""
    known = -1 < position < 1 << 31
    name = conn.execute(_NAME, {"run_id": run_id, "position": position}).scalar() if known else None
    if name is None:
        raise NotFound(f"the run has no step at position {position}; handlers have one once they have started")
    return str(name)


@dataclass(frozen=True, slots=True)
class Span:
    """A time of a step; `kind` is `queued`, `running`, `retry` or the outcome of an attempt."""

    position: int
    kind: str
    since: datetime
    until: datetime | None
    attempt: int


_ATTEMPTS = text("""
SELECT s.position, t.number, t.outcome, t.started_at, t.finished_at
FROM workflow_run_steps s JOIN workflow_step_attempts t ON t.step_id = coalesce(s.reused_step_id, s.id)
WHERE s.run_id = :run_id AND s.position = ANY(:positions) ORDER BY s.position, t.number
""")
_NOW = text(f"""
SELECT position, status, ready_at, started_at, finished_at, attempt, id IS NULL AS within FROM {SHOWN} s
WHERE run_id = :run_id AND position = ANY(:positions) AND reused_step_id IS NULL
""")


def list_spans(conn: Connection, run_id: str, positions: Sequence[int]) -> list[Span]:
    """What these steps did when: the ended attempts, the time before the first, and what they are at now.

    Nothing but the attempts of the earlier run for a step that a rerun has kept.
    """
    values = {"run_id": run_id, "positions": list(positions)}
    spans = [
        Span(row.position, row.outcome, row.started_at, row.finished_at, row.number)
        for row in conn.execute(_ATTEMPTS, values)
        if row.started_at is not None
    ]
    begun: dict[int, datetime] = {}
    for span in spans:
        begun[span.position] = min(begun.get(span.position, span.since), span.since)
    for row in conn.execute(_NOW, values):
        first = begun.get(row.position, row.started_at or row.finished_at)
        if row.ready_at is not None and (first is None or row.ready_at < first):
            spans.append(Span(row.position, "queued", row.ready_at, first, 0))
        if row.within and row.finished_at is not None:
            spans.append(Span(row.position, row.status, row.finished_at, row.finished_at, row.attempt))
        if row.status in ("running", "waiting") and row.started_at is not None:
            spans.append(Span(row.position, row.status, row.started_at, None, row.attempt))
    return spans
