"""The checks of a row's values, in one function a table: Postgres reads each CHECK anew for each statement.

Revision ID: 0012
Revises: 0011
Create Date: 2026-11-30
"""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

STEP = """
CREATE FUNCTION orchestrator_check_step(status text, reason text, queue text, held_by text, claim_token uuid, finished_at timestamptz, lease_expires_at timestamptz, next_attempt_at timestamptz, wake_at timestamptz, held_at timestamptz, has_error bool, has_wait bool, source_count int, remaining_sources int, satisfied_sources int, failed_sources int, upstream_failed_sources int, skipped_sources int, item_of int, item_index int, items_open int, items_made int, items_total int, place int) RETURNS bool
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  broken text;
BEGIN
  IF (status IN ('canceled', 'failed', 'pending', 'queued', 'ready', 'running', 'skipped', 'succeeded', 'upstream_failed', 'waiting')) IS NOT FALSE
    AND ((finished_at IS NOT NULL) = (status IN ('canceled', 'failed', 'skipped', 'succeeded', 'upstream_failed'))) IS NOT FALSE
    AND ((claim_token IS NOT NULL) = (status IN ('queued', 'running'))) IS NOT FALSE
    AND ((lease_expires_at IS NOT NULL) = (status = 'running')) IS NOT FALSE
    AND (status NOT IN ('queued', 'running') OR queue IS NOT NULL) IS NOT FALSE
    AND (status NOT IN ('skipped', 'upstream_failed', 'canceled') OR reason IS NOT NULL) IS NOT FALSE
    AND (status <> 'failed' OR has_error) IS NOT FALSE
    AND (next_attempt_at IS NULL OR status = 'ready') IS NOT FALSE
    AND (status <> 'waiting' OR has_wait) IS NOT FALSE
    AND (wake_at IS NULL OR status = 'waiting') IS NOT FALSE
    AND (remaining_sources >= 0 AND source_count >= remaining_sources + satisfied_sources + failed_sources + upstream_failed_sources + skipped_sources) IS NOT FALSE
    AND ((held_by IS NOT NULL) = (held_at IS NOT NULL)) IS NOT FALSE
    AND (held_at IS NULL OR status <> 'queued') IS NOT FALSE
    AND ((item_of IS NULL) = (place < 1048576) AND (item_of IS NULL) = (item_index IS NULL)) IS NOT FALSE
    AND (items_open >= 0 AND items_made >= items_open AND items_total >= items_made) IS NOT FALSE THEN
    RETURN true;
  END IF;
  broken := CASE
    WHEN (status IN ('canceled', 'failed', 'pending', 'queued', 'ready', 'running', 'skipped', 'succeeded', 'upstream_failed', 'waiting')) IS FALSE THEN 'status'
    WHEN ((finished_at IS NOT NULL) = (status IN ('canceled', 'failed', 'skipped', 'succeeded', 'upstream_failed'))) IS FALSE THEN 'finished'
    WHEN ((claim_token IS NOT NULL) = (status IN ('queued', 'running'))) IS FALSE THEN 'claimed'
    WHEN ((lease_expires_at IS NOT NULL) = (status = 'running')) IS FALSE THEN 'leased'
    WHEN (status NOT IN ('queued', 'running') OR queue IS NOT NULL) IS FALSE THEN 'has_queue'
    WHEN (status NOT IN ('skipped', 'upstream_failed', 'canceled') OR reason IS NOT NULL) IS FALSE THEN 'reasoned'
    WHEN (status <> 'failed' OR has_error) IS FALSE THEN 'failed_says_why'
    WHEN (next_attempt_at IS NULL OR status = 'ready') IS FALSE THEN 'retry_is_ready'
    WHEN (status <> 'waiting' OR has_wait) IS FALSE THEN 'waits_for'
    WHEN (wake_at IS NULL OR status = 'waiting') IS FALSE THEN 'wakes_while_it_waits'
    WHEN (remaining_sources >= 0 AND source_count >= remaining_sources + satisfied_sources + failed_sources + upstream_failed_sources + skipped_sources) IS FALSE THEN 'tally'
    WHEN ((held_by IS NOT NULL) = (held_at IS NOT NULL)) IS FALSE THEN 'held'
    WHEN (held_at IS NULL OR status <> 'queued') IS FALSE THEN 'held_is_not_sent'
    WHEN ((item_of IS NULL) = (place < 1048576) AND (item_of IS NULL) = (item_index IS NULL)) IS FALSE THEN 'item'
    WHEN (items_open >= 0 AND items_made >= items_open AND items_total >= items_made) IS FALSE THEN 'items' END;
  RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'workflow_run_steps',
    CONSTRAINT = 'workflow_run_steps_' || broken || '_check',
    MESSAGE = 'a row of workflow_run_steps breaks the rule "' || broken || '": its status is ' || coalesce(status, 'null');
END $$;
"""

RUN = """
CREATE FUNCTION orchestrator_check_run(status text, final_status text, halting text, finished_at timestamptz, paused_at timestamptz, has_error bool) RETURNS bool
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  broken text;
BEGIN
  IF (status IN ('canceled', 'canceling', 'failed', 'paused', 'pending', 'running', 'succeeded')) IS NOT FALSE
    AND (final_status IN ('canceled', 'failed', 'succeeded')) IS NOT FALSE
    AND ((finished_at IS NOT NULL) = (status IN ('canceled', 'failed', 'succeeded'))) IS NOT FALSE
    AND (status NOT IN ('canceled', 'failed', 'succeeded') OR final_status IS NOT DISTINCT FROM status) IS NOT FALSE
    AND (halting IN ('abort', 'drain', 'run_failed', 'deadline')) IS NOT FALSE
    AND ((paused_at IS NOT NULL) = (status = 'paused')) IS NOT FALSE
    AND (status <> 'failed' OR has_error) IS NOT FALSE THEN
    RETURN true;
  END IF;
  broken := CASE
    WHEN (status IN ('canceled', 'canceling', 'failed', 'paused', 'pending', 'running', 'succeeded')) IS FALSE THEN 'status'
    WHEN (final_status IN ('canceled', 'failed', 'succeeded')) IS FALSE THEN 'final_status'
    WHEN ((finished_at IS NOT NULL) = (status IN ('canceled', 'failed', 'succeeded'))) IS FALSE THEN 'finished'
    WHEN (status NOT IN ('canceled', 'failed', 'succeeded') OR final_status IS NOT DISTINCT FROM status) IS FALSE THEN 'ends_as_decided'
    WHEN (halting IN ('abort', 'drain', 'run_failed', 'deadline')) IS FALSE THEN 'halting'
    WHEN ((paused_at IS NOT NULL) = (status = 'paused')) IS FALSE THEN 'paused'
    WHEN (status <> 'failed' OR has_error) IS FALSE THEN 'failed_says_why' END;
  RAISE EXCEPTION USING ERRCODE = 'check_violation', TABLE = 'workflow_runs',
    CONSTRAINT = 'workflow_runs_' || broken || '_check',
    MESSAGE = 'a row of workflow_runs breaks the rule "' || broken || '": its status is ' || coalesce(status, 'null');
END $$;
"""

# What they replace, and whence a step back takes it again.
STEP_CHECKS = {
    "status": "status IN ('canceled', 'failed', 'pending', 'queued', 'ready', 'running', 'skipped', 'succeeded', 'upstream_failed', 'waiting')",
    "finished": "(finished_at IS NOT NULL) = (status IN ('canceled', 'failed', 'skipped', 'succeeded', 'upstream_failed'))",
    "claimed": "(claim_token IS NOT NULL) = (status IN ('queued', 'running'))",
    "leased": "(lease_expires_at IS NOT NULL) = (status = 'running')",
    "has_queue": "status NOT IN ('queued', 'running') OR queue IS NOT NULL",
    "reasoned": "status NOT IN ('skipped', 'upstream_failed', 'canceled') OR reason IS NOT NULL",
    "failed_says_why": "status <> 'failed' OR error IS NOT NULL",
    "retry_is_ready": "next_attempt_at IS NULL OR status = 'ready'",
    "waits_for": "status <> 'waiting' OR wait IS NOT NULL",
    "wakes_while_it_waits": "wake_at IS NULL OR status = 'waiting'",
    "tally": "remaining_sources >= 0 AND source_count >= remaining_sources + satisfied_sources + failed_sources + upstream_failed_sources + skipped_sources",
    "held": "(held_by IS NOT NULL) = (held_at IS NOT NULL)",
    "held_is_not_sent": "held_at IS NULL OR status <> 'queued'",
    "item": "(item_of IS NULL) = (position < 1048576) AND (item_of IS NULL) = (item_index IS NULL)",
    "items": "items_open >= 0 AND items_made >= items_open AND items_total >= items_made",
}
RUN_CHECKS = {
    "status": "status IN ('canceled', 'canceling', 'failed', 'paused', 'pending', 'running', 'succeeded')",
    "final_status": "final_status IN ('canceled', 'failed', 'succeeded')",
    "finished": "(finished_at IS NOT NULL) = (status IN ('canceled', 'failed', 'succeeded'))",
    "ends_as_decided": "status NOT IN ('canceled', 'failed', 'succeeded') OR final_status IS NOT DISTINCT FROM status",
    "halting": "halting IN ('abort', 'drain', 'run_failed', 'deadline')",
    "paused": "(paused_at IS NOT NULL) = (status = 'paused')",
    "failed_says_why": "status <> 'failed' OR error IS NOT NULL",
}
STEP_CALL = "orchestrator_check_step(status, reason, queue, held_by, claim_token, finished_at, lease_expires_at, next_attempt_at, wake_at, held_at, error IS NOT NULL, wait IS NOT NULL, source_count, remaining_sources, satisfied_sources, failed_sources, upstream_failed_sources, skipped_sources, item_of, item_index, items_open, items_made, items_total, position)"
RUN_CALL = "orchestrator_check_run(status, final_status, halting, finished_at, paused_at, error IS NOT NULL)"


def _drop(table: str, names: list[str]) -> str:
    dropped = ", ".join(f"DROP CONSTRAINT {table}_{name}_check" for name in names)
    return f"ALTER TABLE {table} {dropped}"


def _add(table: str, checks: dict[str, str]) -> str:
    added = ", ".join(f"ADD CONSTRAINT {table}_{name}_check CHECK ({check})" for name, check in checks.items())
    return f"ALTER TABLE {table} {added}"


def upgrade() -> None:
    for script, table, call, old in (
        (STEP, "workflow_run_steps", STEP_CALL, STEP_CHECKS),
        (RUN, "workflow_runs", RUN_CALL, RUN_CHECKS),
    ):
        op.get_bind().exec_driver_sql(script)
        op.get_bind().exec_driver_sql(_add(table, {"possible": call}))
        op.get_bind().exec_driver_sql(_drop(table, list(old)))


def downgrade() -> None:
    for table, old, function in (
        ("workflow_run_steps", STEP_CHECKS, "orchestrator_check_step"),
        ("workflow_runs", RUN_CHECKS, "orchestrator_check_run"),
    ):
        op.get_bind().exec_driver_sql(_add(table, old))
        op.get_bind().exec_driver_sql(_drop(table, ["possible"]))
        op.get_bind().exec_driver_sql(f"DROP FUNCTION {function}")
