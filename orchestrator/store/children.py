"""Runs that steps of other runs started: the links, what a parent reads, what a child is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.states import RUN_OPEN, RUN_TERMINAL, STEP_OPEN
from orchestrator.store.tables import one_of

_LINK = text("""
INSERT INTO workflow_children (parent_step_id, attempt, child_run_id, parent_run_id, workflow_id, child_id)
SELECT s.id, s.attempt, c.id, s.run_id, c.workflow_id, :child_id
FROM workflow_run_steps s, workflow_runs c WHERE s.id = :step_id AND c.id = :child_run_id
ON CONFLICT DO NOTHING
""")


def link(conn: Connection, step_id: str, child_run_id: str, child_id: str | None = None) -> None:
    """Note that the step's present attempt started the run, or goes on with it."""
    conn.execute(_LINK, {"step_id": step_id, "child_run_id": child_run_id, "child_id": child_id})


_LOCK_NAME = text("SELECT pg_advisory_xact_lock(hashtextextended(:workflow_id || ' ' || :child_id, 11))")
_NAMED = text("""
SELECT c.id, c.revision_id FROM workflow_children k JOIN workflow_runs c ON c.id = k.child_run_id
WHERE k.workflow_id = :workflow_id AND k.child_id = :child_id FOR SHARE OF c
""")


def lock_name(conn: Connection, workflow_id: str, child_id: str) -> None:
    """Let nobody else give this name to a child of the workflow until the transaction ends."""
    conn.execute(_LOCK_NAME, {"workflow_id": workflow_id, "child_id": child_id})


_WAITS_FOR = text(f"""
WITH RECURSIVE awaited (id) AS (
  SELECT CAST(:child_run_id AS uuid)
  UNION SELECT k.child_run_id FROM awaited a JOIN workflow_children k ON k.parent_run_id = a.id
    JOIN workflow_run_steps s ON s.id = k.parent_step_id AND s.status IN {one_of(STEP_OPEN)}
) SELECT EXISTS (SELECT FROM awaited WHERE id = :run_id)
""")


def waits_for(conn: Connection, child_run_id: str, run_id: str) -> bool:
    """Whether the child is the run itself, or waits for it, or for what waits for it."""
    return bool(conn.execute(_WAITS_FOR, {"child_run_id": child_run_id, "run_id": run_id}).scalar_one())


def find_named(conn: Connection, workflow_id: str, child_id: str) -> Row[Any] | None:
    """The workflow's child of this name; if it has not ended, it does not until the transaction is over."""
    return conn.execute(_NAMED, {"workflow_id": workflow_id, "child_id": child_id}).first()


_ATTACHED = text("""
UPDATE workflow_run_steps
SET wait = CAST(CAST(wait AS jsonb) || jsonb_build_object('run_id', CAST(:child_run_id AS text)) AS json) WHERE id = :id
""")


def note_attached(conn: Connection, step_id: str, child_run_id: str) -> None:
    """Tell the step, which is being suspended, which run it waits for."""
    conn.execute(_ATTACHED, {"id": step_id, "child_run_id": child_run_id})


_LATEST = text("""
SELECT c.id, c.status, c.final_status, c.input, c.workflow_id, c.revision_id,
  k.attempt <= s.attempt_base AS earlier_life
FROM workflow_children k
JOIN workflow_run_steps s ON s.id = k.parent_step_id
JOIN workflow_runs c ON c.id = k.child_run_id
WHERE k.parent_step_id = :step_id ORDER BY k.attempt DESC LIMIT 1
""")


def latest_child(conn: Connection, step_id: str) -> Row[Any] | None:
    """The run that the step's latest attempt with one started; `earlier_life`: before the step was opened again."""
    return conn.execute(_LATEST, {"step_id": step_id}).first()


_END = text("""
SELECT c.status, c.output, c.error, c.cancel_reason, c.parent_run_id, w.name AS workflow,
  c.status = 'failed' AND EXISTS (
    SELECT FROM workflow_run_steps s JOIN workflow_children k ON k.parent_step_id = s.id AND k.attempt = s.attempt
    JOIN workflow_runs d ON d.id = k.child_run_id AND d.status = 'failed'
    WHERE s.run_id = c.id AND s.reason = 'error' AND (s.name = c.error ->> 'step'
      OR s.position > 0 AND s.item IS NOT NULL AND strpos(c.error ->> 'message', s.error ->> 'message') > 0)
    ) AS failed_below
FROM workflow_runs c JOIN workflow_revisions v ON v.id = c.revision_id JOIN workflows w ON w.id = v.workflow_id
WHERE c.id = :id
""")


def load_child(conn: Connection, child_run_id: str) -> Row[Any] | None:
    """How a child stands; None for one that was deleted. `failed_below`: its error is that of a child of its own."""
    return conn.execute(_END, {"id": child_run_id}).first()


_IS_OVER = text(f"SELECT status IN {one_of(RUN_TERMINAL)} FROM workflow_runs WHERE id = :id")
_COUNT_ON = text("UPDATE workflow_runs SET parent_waits = true WHERE id = :id")
_TOLD = text(f"""
UPDATE workflow_runs SET parent_waits = false WHERE id = :id AND parent_waits AND status IN {one_of(RUN_TERMINAL)}
RETURNING id
""")


def is_over(conn: Connection, child_run_id: str) -> bool:
    """Whether the child has ended; one that was deleted has."""
    return conn.execute(_IS_OVER, {"id": child_run_id}).scalar() is not False


def count_on(conn: Connection, child_run_id: str) -> None:
    """Note that its parent's step waits for the child's end."""
    conn.execute(_COUNT_ON, {"id": child_run_id})


def note_told(conn: Connection, child_run_id: str) -> bool:
    """Note that its parent's step knows of the child's end; False when it did before, or the child has not ended."""
    return conn.execute(_TOLD, {"id": child_run_id}).first() is not None


_LOCK_STEPS = text("""
SELECT id, status = 'waiting' AND wait ->> 'run_id' = CAST(:id AS text) AS waits FROM workflow_run_steps
WHERE id = ANY(ARRAY(
  SELECT parent_step_id FROM workflow_runs WHERE id = CAST(:id AS uuid)
  UNION SELECT parent_step_id FROM workflow_children WHERE child_run_id = CAST(:id AS uuid)))
ORDER BY run_id, position FOR UPDATE
""")


def lock_parent_steps(conn: Connection, child_run_id: str) -> list[str]:
    """The steps that wait for the child without a worker: the one that started it, and those that were attached.

    Locked whatever their status, so that one that is just being suspended is seen as waiting.
    """
    return [row.id for row in conn.execute(_LOCK_STEPS, {"id": child_run_id}) if row.waits]


_UNTOLD = text(f"""
SELECT id FROM workflow_runs WHERE parent_waits AND status IN {one_of(RUN_TERMINAL)} ORDER BY id LIMIT :limit
""")


def find_untold(conn: Connection, limit: int) -> list[str]:
    """Children that have ended, and whose parent's step was not told."""
    return list(conn.execute(_UNTOLD, {"limit": limit}).scalars())


# What is to be done with an open child: its parent's step governs it while that step waits for it. Its lifecycle
# handlers and compensations are left to come to their end.
_NEEDS = f"""
SELECT c.id, c.parent_run_id, CASE
  WHEN g.governed IS NOT TRUE AND c.halting IS NULL AND (c.status = 'paused' AND c.final_status IS NULL OR EXISTS (
      SELECT FROM workflow_run_steps o
      WHERE o.run_id = c.id AND o.position < c.step_count AND o.status IN {one_of(STEP_OPEN)})) THEN 'cut_off'
  WHEN g.governed AND s.cancel_requested_at IS NOT NULL AND c.final_status IS NULL THEN 'cancel'
  WHEN g.governed AND p.status = 'paused' AND c.status = 'running' THEN 'pause'
  WHEN c.status = 'paused' AND c.paused_with_parent AND p.status IS DISTINCT FROM 'paused' THEN 'resume'
  END AS need, s.name AS step, s.item_index AS item, s.status AS step_status, p.pause_reason,
  p.cancel_reason
FROM workflow_runs c
LEFT JOIN workflow_run_steps s ON s.id = c.parent_step_id
LEFT JOIN workflow_runs p ON p.id = c.parent_run_id
CROSS JOIN LATERAL (
  SELECT s.status IN {one_of(STEP_OPEN)} AND s.wait ->> 'run_id' = CAST(c.id AS text) AS governed
) g
WHERE c.parent_waits AND c.status IN {one_of(RUN_OPEN)} AND {{which}} ORDER BY c.id
"""
_SOME_NEED = f"SELECT * FROM ({_NEEDS}) n WHERE n.need IS NOT NULL"
_NEEDS_OF = text(_SOME_NEED.format(which="c.parent_run_id = :run_id"))
_NEEDS_OF_ONE = text(_SOME_NEED.format(which="c.id = :id"))
_STARTED = "c.id = ANY(ARRAY(SELECT child_run_id FROM workflow_children WHERE parent_step_id = :step_id))"
_NEEDS_OF_STEP = text(_SOME_NEED.format(which=_STARTED))
_NEEDS_AFTER = text(_NEEDS.format(which="c.id > CAST(:after AS uuid)") + "LIMIT :limit")


def find_needs(conn: Connection, run_id: str) -> Sequence[Row[Any]]:
    """Open children of the run with something to be done (`need`: cut_off, cancel, pause, resume)."""
    return conn.execute(_NEEDS_OF, {"run_id": run_id}).all()


def find_needs_of_step(conn: Connection, step_id: str) -> Sequence[Row[Any]]:
    """The same for those that one step, or one item of a step, has started."""
    return conn.execute(_NEEDS_OF_STEP, {"step_id": step_id}).all()


def find_need(conn: Connection, child_run_id: str) -> Sequence[Row[Any]]:
    """The same for one child."""
    return conn.execute(_NEEDS_OF_ONE, {"id": child_run_id}).all()


def look_at_children(conn: Connection, after: str, limit: int) -> Sequence[Row[Any]]:
    """Open children in the order of their ids, from after `after` on, each with its need or None."""
    return conn.execute(_NEEDS_AFTER, {"after": after, "limit": limit}).all()


_PAUSED_PARENT = text("""
SELECT p.id FROM workflow_runs c JOIN workflow_runs p ON p.id = c.parent_run_id
WHERE c.id = :id AND c.parent_waits AND p.status = 'paused'
""")


def paused_parent(conn: Connection, child_run_id: str) -> str | None:
    """The parent of the run, if it waits for this one and is paused."""
    parent: str | None = conn.execute(_PAUSED_PARENT, {"id": child_run_id}).scalar()
    return parent


_HAS_TURN = text("""
WITH RECURSIVE above AS (
  SELECT id, parent_run_id, workflow_id, limit_key FROM workflow_runs WHERE id = :id
  UNION ALL
  SELECT p.id, p.parent_run_id, p.workflow_id, p.limit_key FROM above a JOIN workflow_runs p ON p.id = a.parent_run_id
)
SELECT EXISTS (SELECT FROM above WHERE workflow_id = :workflow_id AND limit_key = :key)
""")


def has_turn(conn: Connection, run_id: str, workflow_id: str, key: str) -> bool:
    """Whether the run, or one above it, counts for this limit."""
    return bool(conn.execute(_HAS_TURN, {"id": run_id, "workflow_id": workflow_id, "key": key}).scalar_one())


_REFUSE = text("""
UPDATE workflow_run_steps
SET wait = CAST(CAST(wait AS jsonb) || jsonb_build_object(
  'refused', CAST(:message AS text), 'type', CAST(:type AS text)) AS json) WHERE id = :id
""")


def note_refused(conn: Connection, step_id: str, type: str, message: str) -> None:
    """Tell the step, which is being suspended, that its child was not started."""
    conn.execute(_REFUSE, {"id": step_id, "type": type, "message": message})
