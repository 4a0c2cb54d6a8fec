"""How many runs of each status there were over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, text

from orchestrator.store.reads.runs import RunFilters, conditions_of, id_at, workflow_ids


@dataclass(frozen=True, slots=True)
class Bucket:
    """The runs made from `since` to before `until`, by status."""

    since: datetime
    until: datetime
    counts: dict[str, int]


# By ranges of ids, which are times: one index alone answers where no other filters than app and status are given.
_COUNT = """
SELECT b.place, f.status, f.runs FROM unnest(CAST(:lows AS uuid[]), CAST(:highs AS uuid[]))
  WITH ORDINALITY AS b (low, high, place), LATERAL (
  SELECT r.status, count(*) AS runs FROM workflow_runs r
  WHERE r.id >= b.low AND r.id < b.high AND {where} GROUP BY r.status) f
"""
_OF_WORKFLOWS = "r.workflow_id = ANY(CAST(:workflows AS uuid[]))"


def count_over_time(conn: Connection, filters: RunFilters, lows: Sequence[datetime], width: timedelta) -> list[Bucket]:
    """A bucket of this width from each of `lows` on; the filters' own times are passed over.

    A run counts for the time in its id, by the clock of the process that started it. Raises `NotFound` for an app or
    workflow nobody has registered.
    """
    spans = [(low, low + width) for low in lows]
    where, values = conditions_of(conn, replace(filters, created_after=None, created_before=None))
    if filters.workflow is not None:
        where = f"{where} AND {_OF_WORKFLOWS}"
        values["workflows"] = workflow_ids(conn, filters.workflow)
    values |= {"lows": [id_at(low) for low, _ in spans], "highs": [id_at(high) for _, high in spans]}
    found: list[dict[str, int]] = [{} for _ in spans]
    for row in conn.execute(text(_COUNT.format(where=where)), values):
        found[row.place - 1][row.status] = row.runs
    return [Bucket(low, high, counts) for (low, high), counts in zip(spans, found, strict=True)]
