"""One run as people see it, as a database function: planning what reads it took six times as long as reading it.

Revision ID: 0023
Revises: 0022
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

# Its steps are rows, and what a function did in its own process; items are not counted (orchestrator/store/reads/shown.py).
SHOWN_RUN = """
CREATE FUNCTION orchestrator_shown_run(wanted uuid)
RETURNS TABLE (id uuid, revision_id uuid, workflow text, revision int, app text, status text, input json, output json,
  error json, tags text[], created_at timestamptz, started_at timestamptz, finished_at timestamptz, pause_reason text,
  root_id uuid, parent_run_id uuid, parent_step text, parent_item int, depth int, rerun_of_id uuid, schedule_id uuid,
  schedule text, fire_at timestamptz, counts json)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT r.id, r.revision_id, w.name, v.number, a.name, r.status, r.input, r.output, r.error, r.tags, r.created_at,
    r.started_at, r.finished_at, r.pause_reason, r.root_id, r.parent_run_id, ps.name, ps.item_index, r.depth, r.rerun_of_id,
    sf.schedule_id, sc.name, sf.fire_at,
    (SELECT json_object_agg(c.status, c.steps ORDER BY c.status) FROM (
      SELECT k.status, count(*) AS steps FROM (
        SELECT s.status FROM workflow_run_steps s WHERE s.run_id = wanted AND s.position < 1048576
        UNION ALL
        SELECT CASE WHEN j.part = 0 THEN j.status ELSE 'ready' END FROM workflow_journal j
        WHERE j.run_id = wanted AND j.verb = 'step' AND j.part <> 1 AND j.position < 1048576
          AND (j.part = 0 OR NOT EXISTS (SELECT FROM workflow_journal l
            WHERE l.run_id = wanted AND l.position = j.position AND (l.part = 0 OR l.part > j.part)))
      ) k GROUP BY k.status) c)
  FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
  JOIN apps a ON a.id = r.app_id LEFT JOIN workflow_run_steps ps ON ps.id = r.parent_step_id
  LEFT JOIN schedule_fires sf ON sf.run_id = r.id LEFT JOIN schedules sc ON sc.id = sf.schedule_id
  WHERE r.id = wanted;
END $$;
"""


def upgrade() -> None:
    op.get_bind().exec_driver_sql(SHOWN_RUN)


def downgrade() -> None:
    op.get_bind().exec_driver_sql("DROP FUNCTION orchestrator_shown_run")
