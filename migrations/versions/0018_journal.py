"""Code-first workflows: the journal of their functions, and steps that such a function begins while it runs.

Revision ID: 0018
Revises: 0016
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0018"
down_revision = "0016"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE workflow_journal (
    run_id UUID NOT NULL,
    position INTEGER NOT NULL,
    part SMALLINT NOT NULL,
    verb TEXT NOT NULL,
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    status TEXT,
    value JSON,
    error JSON,
    line TEXT,
    attempt INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    due_at TIMESTAMP WITH TIME ZONE,
    at TIMESTAMP WITH TIME ZONE DEFAULT orchestrator_now() NOT NULL,
    CONSTRAINT workflow_journal_pkey PRIMARY KEY (run_id, position, part),
    CONSTRAINT workflow_journal_ended_check CHECK (part <> 1 OR status IS NOT NULL),
    CONSTRAINT workflow_journal_run_id_fkey FOREIGN KEY(run_id) REFERENCES workflow_runs (id) ON DELETE CASCADE
);

-- Of a step that runs a function: how many of the steps it began may be open as it is woken. `items_open` counts them;
-- while some of them take turns, `items_free` is how many at a time, `items_first` where they are, and `items_next` the
-- first that has not begun.
ALTER TABLE workflow_run_steps ADD COLUMN items_spared INTEGER;
"""

PLANNED = """
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
"""
OPEN = "('pending', 'ready', 'queued', 'running', 'waiting')"

# Write entries, and the rows of the steps they begin; what is stored at their positions comes back. With a token the
# claim must hold; else the caller has just suspended the step and has its row. Nothing is begun any more once the step is
# asked to stop, which a row without a position tells.
JOURNAL = f"""
CREATE FUNCTION orchestrator_journal(
  run uuid, step uuid, token uuid, positions int[], verbs text[], names text[], keys text[], statuses text[],
  contents text[], errors text[], lines text[], turns int[],
  ids uuid[], bodies text[], functions text[], queues text[], priorities smallint[], pools text[], slots int[],
  tries int[], faults text[]
) RETURNS TABLE ("position" int, status text, value text, error text, queue text)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
DECLARE
  p record;
  begun int;
  first int;
  made int;
BEGIN
  SELECT s.id, s.app_id, s.attempt, s.cancel_requested_at IS NOT NULL AS stopping, s.items_open, r.halting,
    coalesce((SELECT j.generation FROM workflow_journal j WHERE j.run_id = run AND j.position = 0 AND j.part = 0), 0)
      AS generation INTO p
  FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id AND r.status IN ('running', 'paused', 'canceling')
  WHERE s.id = step AND (token IS NULL OR (s.claim_token = token AND s.lease_expires_at IS NOT NULL)) FOR UPDATE OF s;
  IF FOUND AND (NOT p.stopping OR array_length(array_remove(bodies, NULL), 1) IS NULL) THEN
    WITH written AS (
      INSERT INTO workflow_journal (run_id, position, part, verb, name, key, status, value, error, line, attempt,
        generation)
      SELECT run, e.position, 0, e.verb, e.name, e.key, e.status, CAST(e.value AS json), CAST(e.error AS json), e.line,
        p.attempt, p.generation
      FROM unnest(positions, verbs, names, keys, statuses, contents, errors, lines)
        AS e (position, verb, name, key, status, value, error, line)
      ON CONFLICT DO NOTHING RETURNING workflow_journal.position
    ), wanted AS (
      SELECT b.*, row_number() OVER (PARTITION BY b.turn IS NULL ORDER BY b.position) AS k
      FROM unnest(positions, keys, turns, ids, bodies, functions, queues, priorities, pools, slots, tries, faults)
        AS b (position, key, turn, id, body, function, queue, priority, pool, slots, tries, fault)
      WHERE b.body IS NOT NULL AND b.position IN (SELECT w.position FROM written w)
    ), rows AS (
      INSERT INTO workflow_run_steps (id, run_id, app_id, position, name, function, status, queue, priority, pool, slots,
        source_count, remaining_sources, max_attempts, ready_at, finished_at, error, item)
      SELECT w.id, run, p.app_id, w.position, w.key, w.function,
        CASE WHEN w.fault IS NOT NULL THEN 'failed' WHEN w.k > w.turn THEN 'pending' ELSE 'ready' END, w.queue,
        w.priority, w.pool, w.slots, 0, 0, w.tries,
        CASE WHEN w.k > w.turn OR w.fault IS NOT NULL THEN NULL ELSE orchestrator_now() END,
        CASE WHEN w.fault IS NOT NULL THEN orchestrator_now() END, CAST(w.fault AS json), CAST(w.body AS json)
      FROM wanted w
      RETURNING workflow_run_steps.position, workflow_run_steps.status
    )
    SELECT count(*) FILTER (WHERE r.status <> 'failed'), min(w.position) FILTER (WHERE w.turn IS NOT NULL),
      min(r.position) FILTER (WHERE r.status = 'pending') INTO begun, first, made
    FROM rows r JOIN wanted w ON w.position = r.position;
    UPDATE workflow_run_steps s SET items_open = coalesce(s.items_open, 0) + begun,
      items_first = coalesce(first, s.items_first), items_next = CASE WHEN first IS NULL THEN s.items_next ELSE made END,
      items_free = CASE WHEN first IS NULL THEN s.items_free
        ELSE (SELECT t FROM unnest(turns) AS t WHERE t IS NOT NULL LIMIT 1) END
    WHERE s.id = step AND (begun > 0 OR s.items_open IS NULL);
  END IF;
  RETURN QUERY SELECT j.position, j.status, CAST(j.value AS text), CAST(j.error AS text), NULL::text
  FROM workflow_journal j WHERE j.run_id = run AND j.position = ANY (positions) AND j.part = 0;
  RETURN QUERY SELECT DISTINCT NULL::int, NULL::text, NULL::text, NULL::text, s.queue FROM workflow_run_steps s
  WHERE s.run_id = run AND s.position = ANY (positions) AND s.status = 'ready';
  IF p.stopping THEN
    RETURN QUERY SELECT NULL::int, 'stopping', NULL::text, NULL::text, NULL::text;
  END IF;
END $$;
"""

# Steps whose turn it is begin as others of them have ended; their queues.
BEGIN_CALLS = f"""
CREATE FUNCTION orchestrator_begin_calls(run uuid, owner int) RETURNS TABLE (queue text)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
DECLARE
  p record;
  room int;
BEGIN
  SELECT s.items_first, s.items_next, s.items_free INTO p FROM workflow_run_steps s
  WHERE s.run_id = run AND s.position = owner;
  IF p.items_next IS NULL THEN
    RETURN;
  END IF;
  room := p.items_free - (SELECT count(*) FROM workflow_run_steps s WHERE s.run_id = run
    AND s.position >= p.items_first AND s.position < p.items_next AND s.status IN {OPEN});
  RETURN QUERY
  WITH due AS (
    SELECT s.id FROM workflow_run_steps s WHERE s.run_id = run AND s.position >= p.items_next AND s.position < 1048576
      AND s.status = 'pending' ORDER BY s.position LIMIT greatest(room, 0)
  ), begun AS (
    UPDATE workflow_run_steps s SET status = 'ready', ready_at = orchestrator_now()
    WHERE s.id = ANY (ARRAY(SELECT d.id FROM due d)) RETURNING s.queue
  )
  SELECT DISTINCT b.queue FROM begun b;
  UPDATE workflow_run_steps s SET items_next = (
    SELECT n.position FROM workflow_run_steps n WHERE n.run_id = run AND n.position >= p.items_next
      AND n.position < 1048576 AND n.status = 'pending' ORDER BY n.position LIMIT 1)
  WHERE s.run_id = run AND s.position = owner AND room > 0;
END $$;
"""

# As 0006 has it; of a step that runs a function, it is woken as no more are open than are spared.
ENDED = f"""
CREATE OR REPLACE FUNCTION orchestrator_items_ended(run uuid, owner int, ended int, failed int)
RETURNS TABLE (queue text)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
DECLARE
  p record;
BEGIN
  UPDATE workflow_run_steps s SET items_open = s.items_open - ended, items_failed = s.items_failed + failed,
    items_free = s.items_free + CASE WHEN s.items_total IS NULL THEN 0 ELSE ended END,
    status = CASE WHEN s.status = 'waiting' AND s.items_open - ended <= coalesce(s.items_spared, 0) THEN 'ready'
      ELSE s.status END,
    ready_at = CASE WHEN s.status = 'waiting' AND s.items_open - ended <= coalesce(s.items_spared, 0)
      THEN orchestrator_now() ELSE s.ready_at END,
    wake_at = CASE WHEN s.items_open - ended > coalesce(s.items_spared, 0) THEN s.wake_at END,
    attempt = s.attempt - (s.status = 'waiting' AND s.items_open - ended <= coalesce(s.items_spared, 0))::int
  WHERE s.run_id = run AND s.position = owner
  RETURNING s.items_open, s.items_free, s.items_stop, s.finished_at, s.queue, s.items_total, s.items_next, s.items_spared
  INTO p;
  IF p.items_total IS NULL THEN
    IF p.items_next IS NOT NULL AND p.finished_at IS NULL THEN
      RETURN QUERY SELECT b.queue FROM orchestrator_begin_calls(run, owner) b;
    END IF;
    IF p.items_open <= coalesce(p.items_spared, 0) THEN
      RETURN QUERY SELECT p.queue;
    END IF;
  ELSIF p.items_open = 0 OR (p.items_free > 0 AND p.items_stop IS NULL AND p.finished_at IS NULL
      AND orchestrator_begin_items(run, owner, p.items_free) > 0) THEN
    RETURN QUERY SELECT p.queue;
  END IF;
END $$;
"""


def upgrade() -> None:
    for script in (TABLES, JOURNAL, BEGIN_CALLS, ENDED):
        op.get_bind().exec_driver_sql(script)


def downgrade() -> None:
    raise NotImplementedError("runs of code-first workflows would be left without their past; restore a backup instead")
