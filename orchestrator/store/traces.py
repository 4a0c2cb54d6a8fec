"""What traces tell of runs and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, text

from orchestrator.domain.codes import DRIVER
from orchestrator.store.db import Database
from orchestrator.store.horizon import HAPPENED_HERE, OF_PORTION, next_portion

MOST_EVENTS = 1_000_000
_MOST_RUNS = 2_000  # of a look
_MOST_ATTEMPTS = 1_000  # of a run
ENDS = "('run.succeeded', 'run.failed', 'run.canceled')"
CALLER = """
(SELECT e.data ->> 'traceparent' FROM run_events e WHERE e.run_id = {root} AND e.kind = 'run.started'
  ORDER BY e.id LIMIT 1)
"""


class Place(NamedTuple):
    """Where a run belongs."""

    root_id: str
    traceparent: str | None
    workflow: str
    app: str


_PLACE = f"""
SELECT r.root_id, {CALLER.format(root="r.root_id")}, w.name, a.name
FROM workflow_runs r JOIN workflows w ON w.id = r.workflow_id JOIN apps a ON a.id = r.app_id WHERE r.id = %s
"""


def place_of(db: Database, run_id: str) -> Place | None:
    """None for a run that is gone; raises `Unreachable`."""
    rows = db.call(_PLACE, [run_id])
    return Place(*rows[0]) if rows else None


_FAN = """
SELECT f.id, f.attempt FROM workflow_run_steps s
JOIN workflow_run_steps f ON f.run_id = s.run_id AND f.position = s.item_of WHERE s.id = %s
"""


def fan_of(db: Database, step_id: str) -> tuple[str, int] | None:
    """The step an item belongs to, and its attempt; raises `Unreachable`."""
    rows = db.call(_FAN, [step_id])
    return (str(rows[0][0]), rows[0][1]) if rows else None


_ENDED = text(f"""
SELECT e.id, e.kind, e.at, r.id AS run_id, r.root_id, r.parent_step_id, r.parent_run_id, r.rerun_of_id, r.created_at,
  r.started_at, r.error, v.number AS revision, w.name AS workflow, a.name AS app,
  {CALLER.format(root="r.root_id")} AS traceparent,
  o.root_id AS origin_root_id, {CALLER.format(root="o.root_id")} AS origin_traceparent,
  (SELECT min(k.attempt) FROM workflow_children k WHERE k.parent_step_id = r.parent_step_id AND k.child_run_id = r.id)
    AS parent_attempt,
  (SELECT count(*) FROM run_events b WHERE b.run_id = e.run_id AND b.id < e.id AND b.kind IN {ENDS}) AS life,
  (SELECT max(b.at) FROM run_events b WHERE b.run_id = e.run_id AND b.id < e.id AND b.kind IN {ENDS}) AS ended_before
FROM run_events e JOIN workflow_runs r ON r.id = e.run_id JOIN workflow_revisions v ON v.id = r.revision_id
JOIN workflows w ON w.id = r.workflow_id JOIN apps a ON a.id = r.app_id
LEFT JOIN workflow_runs o ON o.id = r.rerun_of_id
WHERE {OF_PORTION} AND e.kind IN {ENDS} AND {HAPPENED_HERE} ORDER BY e.id LIMIT {_MOST_RUNS}
""")


def take_ended(conn: Connection) -> Sequence[Row[Any]]:
    """The ends of runs since the last look, which are then looked at if the transaction commits."""
    portion = next_portion(conn, "trace_mark", MOST_EVENTS)
    return [] if portion is None else conn.execute(_ENDED, asdict(portion)).all()


# Those whose end no worker saw, or during which none was needed: a worker tells of a function that it has called.
_ATTEMPTS = text(f"""
SELECT s.id, s.name, s.item_index, s.queue, s.function, t.number, t.outcome, t.error, t.worker_id, t.started_at,
  t.finished_at, f.id AS fan_id, f.attempt AS fan_attempt
FROM workflow_run_steps s JOIN workflow_step_attempts t ON t.step_id = s.id
LEFT JOIN workflow_run_steps f ON f.run_id = s.run_id AND f.position = s.item_of AND f.name <> '{DRIVER}'
WHERE s.run_id = :run_id AND s.name <> '{DRIVER}'
  AND (t.outcome = 'lost' OR s.function IS NULL OR s.function LIKE 'celery:%' OR s.items IS NOT NULL)
  AND (CAST(:since AS timestamptz) IS NULL OR t.finished_at > :since)
ORDER BY s.position, t.number LIMIT {_MOST_ATTEMPTS}
""")


def load_untold(conn: Connection, run_id: str, since: Any) -> Sequence[Row[Any]]:
    """The run's attempts of which no worker tells, that ended after `since`, if given."""
    return conn.execute(_ATTEMPTS, {"run_id": run_id, "since": since}).all()
