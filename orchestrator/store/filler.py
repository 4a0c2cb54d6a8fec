"""Rows of runs that nobody ran, made set-wise by `orchestrator bench`: an installation as it is after years."""

from __future__ import annotations

from sqlalchemy import Connection, text

from orchestrator.store.counters import outside_transactions

# Foreign keys would be looked up one by one; the rows are made by one statement together with what they refer to.
_UNCHECKED = text("SET LOCAL session_replication_role = replica")

_ENDED = text("""
WITH revision AS (
  SELECT v.id, v.workflow_id, w.app_id FROM workflow_revisions v JOIN workflows w ON w.id = v.workflow_id
  WHERE v.id = CAST(:revision_id AS uuid)
), made AS (
  INSERT INTO workflow_runs (id, workflow_id, revision_id, app_id, status, final_status, input, vars, output, root_id,
    step_count, created_at, started_at, finished_at)
  SELECT n.id, revision.workflow_id, revision.id, revision.app_id, 'succeeded', 'succeeded', '{"run": 1}', '{}',
    '{"ok": true}', n.id, CAST(:steps AS int), n.at, n.at, n.at + interval '1 second'
  FROM revision, (
    SELECT uuidv7(shift) AS id, now() + shift AS at
    FROM (SELECT interval '-1 year' + make_interval(secs => CAST(:first AS float8) + i) AS shift
          FROM generate_series(1, CAST(:runs AS int)) AS i) AS s
  ) AS n
  RETURNING id, app_id, created_at
)
INSERT INTO workflow_run_steps (id, run_id, app_id, position, name, status, queue, source_count, remaining_sources,
  satisfied_sources, attempt, worker_id, queued_at, ready_at, started_at, finished_at, input, output)
SELECT uuidv7(made.created_at - now()), made.id, made.app_id, p, 's' || p, 'succeeded', 'default', least(p, 1), 0,
  least(p, 1), 1, 'w', made.created_at, made.created_at, made.created_at, made.created_at + interval '1 second',
  '{"log": "none", "run": 1}', '{"ok": true, "step": "s"}'
FROM made, generate_series(0, CAST(:steps AS int) - 1) AS p
""")

_WAITING = text("""
WITH revision AS (
  SELECT v.id, v.workflow_id, w.app_id FROM workflow_revisions v JOIN workflows w ON w.id = v.workflow_id
  WHERE v.id = CAST(:revision_id AS uuid)
), made AS (
  INSERT INTO workflow_runs (id, workflow_id, revision_id, app_id, status, input, vars, root_id, step_count, created_at,
    started_at)
  SELECT n.id, revision.workflow_id, revision.id, revision.app_id, 'running', '{"run": 1}', '{}', n.id,
    CAST(:steps AS int), now() - interval '1 hour', now() - interval '1 hour'
  FROM revision, (SELECT uuidv7(interval '-1 hour') AS id FROM generate_series(1, CAST(:runs AS int))) AS n
  RETURNING id, app_id
)
INSERT INTO workflow_run_steps (id, run_id, app_id, position, name, status, queue, source_count, remaining_sources,
  attempt, max_attempts, ready_at, started_at, next_attempt_at, input)
SELECT uuidv7(interval '-1 hour'), made.id, made.app_id, p, 's' || p, 'ready', 'default', 0, 0, 1, 5,
  now() + interval '1 day', now() - interval '1 hour', now() + interval '1 day', '{"log": "none", "run": 1}'
FROM made, generate_series(0, CAST(:steps AS int) - 1) AS p
""")


def add_ended_runs(conn: Connection, revision_id: str, *, runs: int, steps: int, first: int) -> None:
    """Add runs of `steps` steps that have succeeded in the last year, a second apart from second `first` of it on."""
    conn.execute(_UNCHECKED)
    conn.execute(_ENDED, {"revision_id": revision_id, "runs": runs, "steps": steps, "first": first})


def add_waiting_runs(conn: Connection, revision_id: str, *, runs: int, steps: int) -> None:
    """Add running runs each of whose `steps` steps has failed once and waits a day for its next attempt."""
    conn.execute(_UNCHECKED)
    conn.execute(_WAITING, {"revision_id": revision_id, "runs": runs, "steps": steps})


def tidy(url: str) -> None:
    """Bring statistics and visibility up to date and all to disk, so that none of it falls into what is measured."""
    with outside_transactions(url) as conn:
        conn.exec_driver_sql("VACUUM (ANALYZE) workflow_runs")
        conn.exec_driver_sql("VACUUM (ANALYZE) workflow_run_steps")
        conn.exec_driver_sql("CHECKPOINT")
