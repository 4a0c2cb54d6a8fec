"""What alert rules are about, found in the rows of runs and steps; matched with the rules in the same statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.archive import IMPORTED, TAG
from orchestrator.domain.states import RUN_OPEN
from orchestrator.store.horizon import HAPPENED_HERE, SINCE, Portion
from orchestrator.store.tables import one_of

MOST_RUNS = 1_000  # of one workflow that are kept by id at a time
MOST_STEPS = 2_000  # of a queue that are looked at
OVERDUE_SECONDS = 60  # past its deadline a run is given so long: it is ended then
# A rule (`k`) and a run (`r`) of a workflow (`w`). Runs that are part of another are told with that one, unless the
# rule names their workflow.
_MATCHES = """
  k.paused_at IS NULL AND (k.app_id IS NULL OR k.app_id = r.app_id) AND k.tags <@ r.tags
  AND CASE WHEN k.workflow_key IS NULL THEN r.parent_run_id IS NULL ELSE k.workflow_key = w.name_key END
"""
_GROUPED = f"""
SELECT f.rule_id, f.kind, f.workflow_id, f.app_id, w.name AS workflow, a.name AS app, f.runs, f.last_at, f.run_ids
FROM (
  SELECT m.rule_id, m.kind, m.workflow_id, m.app_id, count(*) AS runs, max(m.at) AS last_at,
    (array_agg(m.run_id ORDER BY m.run_id DESC))[1:{MOST_RUNS}] AS run_ids
  FROM ({{matched}}) m GROUP BY 1, 2, 3, 4
) f JOIN workflows w ON w.id = f.workflow_id JOIN apps a ON a.id = f.app_id
ORDER BY f.rule_id, f.kind, f.workflow_id, f.app_id
"""
# What is behind the horizon is never looked at again. What is not, is told too, or a transaction that stays open
# anywhere on the server would keep every alert waiting; it is remembered by its id until the horizon has passed it.
_ENDED = text(
    f"""
WITH told AS MATERIALIZED (
  SELECT e.id, e.kind, e.run_id, e.at, {SINCE.format("horizon")} AS ahead FROM run_events e
  WHERE e.id > :low AND e.kind IN ('run.failed', 'run.canceled') AND {SINCE.format("counted")}
    AND {HAPPENED_HERE}
    AND e.id <> ALL (CAST((SELECT m.ahead FROM alert_mark m) AS bigint[]))
), remembered AS (
  UPDATE alert_mark SET ahead = ARRAY(
    SELECT t.id FROM told t WHERE t.ahead UNION ALL
    SELECT e.id FROM run_events e WHERE e.id = ANY (CAST((SELECT m.ahead FROM alert_mark m) AS bigint[]))
      AND {SINCE.format("horizon")})
)"""
    + _GROUPED.format(
        matched=f"""
    SELECT k.id AS rule_id, replace(e.kind, '.', '_') AS kind, r.workflow_id, r.app_id, e.at, r.id AS run_id
    FROM told e JOIN workflow_runs r ON r.id = e.run_id JOIN workflows w ON w.id = r.workflow_id
    JOIN alert_rules k ON replace(e.kind, '.', '_') = ANY(k.kinds) AND e.at >= k.created_at AND {_MATCHES}"""
    )
)
_LATE = text(
    _GROUPED.format(
        matched=f"""
    SELECT k.id AS rule_id, 'run_late' AS kind, r.workflow_id, r.app_id, orchestrator_now() AS at, r.id AS run_id
    FROM workflow_runs r JOIN workflows w ON w.id = r.workflow_id
    JOIN alert_rules k ON 'run_late' = ANY(k.kinds) AND {_MATCHES}
    WHERE r.id = ANY(CAST(:ids AS uuid[])) AND r.status IN {one_of(RUN_OPEN)}
      AND (r.deadline_at + make_interval(secs => :overdue) <= orchestrator_now()
        OR r.created_at + make_interval(secs => k.late_seconds) <= orchestrator_now())
      AND NOT EXISTS (SELECT FROM alert_runs x JOIN alerts l ON l.id = x.alert_id
        WHERE x.run_id = r.id AND l.rule_id = k.id AND l.kind = 'run_late')
      AND NOT ('{TAG}' = ANY (r.tags)
        AND EXISTS (SELECT FROM run_events i WHERE i.run_id = r.id AND i.kind = '{IMPORTED}'))"""
    )
)
_OPEN = text(f"""
SELECT r.id FROM workflow_runs r WHERE r.status IN {one_of(RUN_OPEN)} AND r.id > CAST(:after AS uuid)
ORDER BY r.id LIMIT :limit
""")


def ended_runs(conn: Connection, portion: Portion) -> Sequence[Row[Any]]:
    """Runs that have failed or were canceled, by rule, kind, workflow and app: `runs`, and the `run_ids` of the newest.
    What an event of a rule's time before its making says is passed over."""
    values = {"low": portion.low, "counted": portion.counted, "horizon": portion.counted + portion.span}
    return conn.execute(_ENDED, values).all()


def open_runs(conn: Connection, after: str, limit: int) -> list[str]:
    """Open runs by their ids, which follow each other as the runs were started."""
    return [str(id) for id in conn.execute(_OPEN, {"after": after, "limit": limit}).scalars()]


def late_runs(conn: Connection, ids: Sequence[str]) -> Sequence[Row[Any]]:
    """Those of these runs that are late by a rule which has not told of them: grouped as `ended_runs`."""
    return conn.execute(_LATE, {"ids": list(ids), "overdue": OVERDUE_SECONDS}).all()


@dataclass(frozen=True, slots=True)
class Waits:
    """What waits in a queue and could be taken: since when, how much, of which apps; when a step was last begun that
    runs still. What no worker may take is left out: steps of paused runs, and those that wait for slots of a pool."""

    queue: str
    since: datetime
    steps: int
    app_ids: Sequence[str]
    begun_at: datetime | None
    now: datetime


_WAITS = text(f"""
SELECT q.name AS queue, w.since, w.steps, w.app_ids, t.begun_at, orchestrator_now() AS now
FROM unnest(CAST(:queues AS text[])) AS q (name)
CROSS JOIN LATERAL (
  SELECT min(s.ready_at) AS since, count(*) AS steps, array_agg(DISTINCT s.app_id) AS app_ids
  FROM (
    (SELECT ready_at, app_id, run_id FROM workflow_run_steps WHERE status = 'ready' AND next_attempt_at IS NULL
      AND held_at IS NULL AND queue = q.name AND (pool IS NULL OR wait IS NOT NULL) LIMIT {MOST_STEPS})
    UNION ALL
    (SELECT ready_at, app_id, run_id FROM workflow_run_steps WHERE status = 'queued' AND queue = q.name
      LIMIT {MOST_STEPS})
  ) s JOIN workflow_runs r ON r.id = s.run_id AND r.status IN ('running', 'canceling') AND r.halting IS NULL
) w
CROSS JOIN LATERAL (
  SELECT max(started_at) AS begun_at FROM workflow_run_steps WHERE status = 'running' AND queue = q.name
) t
WHERE w.since IS NOT NULL ORDER BY q.name
""")


def queue_waits(conn: Connection, queues: Sequence[str]) -> list[Waits]:
    """How it stands with these queues, those in which something waits."""
    rows = conn.execute(_WAITS, {"queues": list(queues)})
    return [Waits(r.queue, r.since, r.steps, [str(id) for id in r.app_ids], r.begun_at, r.now) for r in rows]
