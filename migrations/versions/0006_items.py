"""The items of a with_items step: rows like those of steps, at positions above them, counted on the step's row.

Revision ID: 0006
Revises: 0005
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

COLUMNS = """
-- Of an item: the position of its step, its place among the step's items, what it is.
-- Of a step with items, once it was expanded: how many there are, have rows, are open, failed; how many more may begin
-- at a time (NULL: any number); where the first item is, and the first that may be pending; why its items are to be
-- stopped; how many ended as what, once the step has ended.
ALTER TABLE workflow_run_steps
  ADD COLUMN item_of INTEGER, ADD COLUMN item_index INTEGER, ADD COLUMN item JSON,
  ADD COLUMN items_total INTEGER, ADD COLUMN items_made INTEGER, ADD COLUMN items_open INTEGER,
  ADD COLUMN items_failed INTEGER, ADD COLUMN items_free INTEGER, ADD COLUMN items_first INTEGER,
  ADD COLUMN items_next INTEGER, ADD COLUMN items_stop TEXT, ADD COLUMN items JSON;
ALTER TABLE workflow_run_steps ADD CONSTRAINT workflow_run_steps_item_check
  CHECK ((item_of IS NULL) = (position < 1048576) AND (item_of IS NULL) = (item_index IS NULL));
ALTER TABLE workflow_run_steps ADD CONSTRAINT workflow_run_steps_items_check
  CHECK (items_open >= 0 AND items_made >= items_open AND items_total >= items_made);
CREATE INDEX steps_items_stop_idx ON workflow_run_steps (run_id, position) WHERE items_stop IS NOT NULL;
"""

PLANNED = """
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
"""

# Rows for the next items of a step, whose row the caller has locked: `first` is the index of the first of them.
# As many as are free are ready, the others wait for their turn.
MAKE = f"""
CREATE FUNCTION orchestrator_make_items(step uuid, ids uuid[], first int, items text[], calls text, tries int,
  gate text, takes int)
RETURNS TABLE (queue text)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
DECLARE
  p record;
  n int := cardinality(ids);
  begun int;
BEGIN
  SELECT s.* INTO p FROM workflow_run_steps s WHERE s.id = step;
  begun := least(n, coalesce(p.items_free, n));
  UPDATE workflow_run_steps s SET items_made = s.items_made + n, items_open = s.items_open + n,
    items_free = s.items_free - begun, items_next = coalesce(s.items_next, s.items_first + first + begun)
  WHERE s.id = step;
  INSERT INTO workflow_run_steps (id, run_id, app_id, position, name, function, status, queue, priority, pool, slots,
    source_count, remaining_sources, max_attempts, ready_at, item_of, item_index, item)
  SELECT i.id, p.run_id, p.app_id, p.items_first + first + i.k::int - 1, p.name, calls,
    CASE WHEN i.k <= begun THEN 'ready' ELSE 'pending' END, p.queue, p.priority, gate, takes,
    0, 0, tries,
    CASE WHEN i.k <= begun THEN orchestrator_now() END, p.position, first + i.k::int - 1, CAST(i.item AS json)
  FROM unnest(ids, items) WITH ORDINALITY AS i (id, item, k);
  IF begun > 0 THEN
    RETURN QUERY SELECT p.queue;
  END IF;
END $$;
"""

# Items whose turn has come begin: up to `most` of the pending ones, as many as are free. The caller has locked the
# step's row; whoever touches a pending item has, so that no order among them is needed.
BEGIN = f"""
CREATE FUNCTION orchestrator_begin_items(run uuid, owner int, most int) RETURNS int
LANGUAGE plpgsql {PLANNED} AS $$
DECLARE
  p record;
  last int;
  n int;
BEGIN
  SELECT s.items_free, s.items_next, s.items_first, s.items_made, s.queue INTO p
  FROM workflow_run_steps s WHERE s.run_id = run AND s.position = owner;
  IF p.items_free <= 0 OR p.items_next >= p.items_first + p.items_made THEN
    RETURN 0;
  END IF;
  WITH due AS (
    SELECT s.id FROM workflow_run_steps s
    WHERE s.run_id = run AND s.position >= p.items_next AND s.position < p.items_first + p.items_made
      AND s.status = 'pending'
    ORDER BY s.position LIMIT least(most, coalesce(p.items_free, most))
  ), begun AS (
    UPDATE workflow_run_steps s SET status = 'ready', ready_at = orchestrator_now(), queue = p.queue
    WHERE s.id = ANY (ARRAY(SELECT d.id FROM due d)) RETURNING s.position
  )
  SELECT count(*), max(b.position) INTO n, last FROM begun b;
  -- Of fewer than were wanted none is left.
  UPDATE workflow_run_steps s SET items_free = s.items_free - n,
    items_next = CASE WHEN n < least(most, coalesce(p.items_free, most)) THEN p.items_first + p.items_made
      ELSE last + 1 END
  WHERE s.run_id = run AND s.position = owner;
  RETURN n;
END $$;
"""

# So many items of a step have ended, `failed` of them badly: others begin in their place, and the last one wakes the
# step. The queues with ready steps come back. The caller has locked the step's row.
ENDED = f"""
CREATE FUNCTION orchestrator_items_ended(run uuid, owner int, ended int, failed int) RETURNS TABLE (queue text)
LANGUAGE plpgsql {PLANNED} AS $$
#variable_conflict use_column
DECLARE
  p record;
BEGIN
  UPDATE workflow_run_steps s SET items_open = s.items_open - ended, items_failed = s.items_failed + failed,
    items_free = s.items_free + ended, status = CASE WHEN s.status = 'waiting' AND s.items_open = ended THEN 'ready'
      ELSE s.status END,
    ready_at = CASE WHEN s.status = 'waiting' AND s.items_open = ended THEN orchestrator_now() ELSE s.ready_at END,
    wake_at = CASE WHEN s.items_open > ended THEN s.wake_at END,
    attempt = s.attempt - (s.status = 'waiting' AND s.items_open = ended)::int
  WHERE s.run_id = run AND s.position = owner
  RETURNING s.items_open, s.items_free, s.items_stop, s.finished_at, s.queue INTO p;
  IF p.items_open = 0 OR (p.items_free > 0 AND p.items_stop IS NULL AND p.finished_at IS NULL
      AND orchestrator_begin_items(run, owner, p.items_free) > 0) THEN
    RETURN QUERY SELECT p.queue;
  END IF;
END $$;
"""

VIEWS = """
CREATE OR REPLACE VIEW workflow_run_summary AS
SELECT r.id, w.name AS workflow, v.number AS revision, a.name AS app, r.status, r.tags,
       r.created_at, r.started_at, r.finished_at,
       coalesce(r.finished_at, orchestrator_now()) - r.started_at AS duration,
       r.error ->> 'message' AS error_message, r.error ->> 'step' AS error_step,
       c.steps, c.pending, c.ready, c.queued, c.running, c.waiting,
       c.succeeded, c.failed, c.canceled, c.skipped, c.upstream_failed
FROM workflow_runs r
JOIN workflow_revisions v ON v.id = r.revision_id
JOIN workflows w ON w.id = v.workflow_id
JOIN apps a ON a.id = r.app_id
CROSS JOIN LATERAL (
  SELECT count(*) AS steps,
         count(*) FILTER (WHERE s.status = 'pending') AS pending,
         count(*) FILTER (WHERE s.status = 'ready') AS ready,
         count(*) FILTER (WHERE s.status = 'queued') AS queued,
         count(*) FILTER (WHERE s.status = 'running') AS running,
         count(*) FILTER (WHERE s.status = 'waiting') AS waiting,
         count(*) FILTER (WHERE s.status = 'succeeded') AS succeeded,
         count(*) FILTER (WHERE s.status = 'failed') AS failed,
         count(*) FILTER (WHERE s.status = 'canceled') AS canceled,
         count(*) FILTER (WHERE s.status = 'skipped') AS skipped,
         count(*) FILTER (WHERE s.status = 'upstream_failed') AS upstream_failed
  FROM workflow_run_steps s WHERE s.run_id = r.id AND s.position < 1048576
) c;

CREATE OR REPLACE VIEW workflow_step_detail AS
SELECT s.id, s.name, s.status, s.reason, w.name AS workflow, r.id AS run_id, r.status AS run_status,
       s.position, s.attempt, s.lost_count, s.queue, s.worker_id, s.ready_at, s.started_at, s.finished_at,
       s.started_at - s.ready_at AS waited,
       coalesce(s.finished_at, CASE WHEN s.status = 'running' THEN orchestrator_now() END) - s.started_at AS duration,
       s.next_attempt_at, s.error ->> 'type' AS error_type, s.error ->> 'message' AS error_message,
       s.items_total AS items, s.items_open, s.items_failed
FROM workflow_run_steps s
JOIN workflow_runs r ON r.id = s.run_id
JOIN workflow_revisions v ON v.id = r.revision_id
JOIN workflows w ON w.id = v.workflow_id
WHERE s.position < 1048576;

CREATE VIEW workflow_step_items AS
SELECT i.id, i.run_id, s.id AS step_id, i.name AS step, i.item_index AS index, i.item, i.status, i.reason, i.attempt,
       i.max_attempts, i.queue, i.worker_id, i.ready_at, i.started_at, i.finished_at,
       coalesce(i.finished_at, CASE WHEN i.status = 'running' THEN orchestrator_now() END) - i.started_at AS duration,
       i.next_attempt_at, i.output, i.error
FROM workflow_run_steps i JOIN workflow_run_steps s ON s.run_id = i.run_id AND s.position = i.item_of
WHERE i.position >= 1048576;
"""

FUNCTIONS = (MAKE, BEGIN, ENDED)


def upgrade() -> None:
    for script in (COLUMNS, *FUNCTIONS, VIEWS):
        op.get_bind().exec_driver_sql(script)


def downgrade() -> None:
    raise NotImplementedError("items would be taken for steps; restore a backup instead")
