"""How long runs took over time, from a sample of each stretch of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.reads.runs import id_at
from orchestrator.store.workflows import find_app

SAMPLE = 200
_LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True)
class Latency:
    """Of the runs made from `since` to before `until`: how long half, and 95 of 100, took at most; in seconds."""

    since: datetime
    until: datetime
    runs: int
    p50: float | None
    p95: float | None


# The newest of each stretch, so that the cost does not grow with how many runs there are.
_TOOK = """
SELECT b.place, count(*) AS runs, percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY f.seconds) AS p
FROM unnest(CAST(:lows AS uuid[]), CAST(:highs AS uuid[])) WITH ORDINALITY AS b (low, high, place), LATERAL (
  SELECT extract(epoch FROM n.finished_at - n.started_at) AS seconds FROM (
    SELECT r.app_id, r.started_at, r.finished_at FROM workflow_runs r WHERE r.id >= b.low AND r.id < b.high
    ORDER BY r.id DESC LIMIT {looked_at}) n
  WHERE n.finished_at IS NOT NULL AND n.started_at IS NOT NULL {of_app} LIMIT {sample}) f
GROUP BY b.place
"""


def latency_over_time(
    conn: Connection, since: datetime, until: datetime, buckets: int, *, app: str | None = None
) -> Sequence[Latency]:
    """So many stretches of equal length, each by its newest 200 ended runs among its newest 1,000."""
    bounds = [since + (until - since) * place / buckets for place in range(buckets + 1)]
    ids = [id_at(bound) for bound in bounds]
    values: dict[str, Any] = {"lows": ids[:-1], "highs": ids[1:]}
    if app is not None:
        values["app"] = find_app(conn, app).id
    of_app = "" if app is None else "AND n.app_id = CAST(:app AS uuid)"
    rows = conn.execute(text(_TOOK.format(of_app=of_app, looked_at=_LOOKED_AT, sample=SAMPLE)), values)
    found = {row.place: row for row in rows}
    return [_latency(low, high, found.get(place)) for place, (low, high) in enumerate(pairwise(bounds), 1)]


def _latency(since: datetime, until: datetime, row: Any) -> Latency:
    if row is None:
        return Latency(since, until, 0, None, None)
    return Latency(since, until, row.runs, float(row.p[0]), float(row.p[1]))
