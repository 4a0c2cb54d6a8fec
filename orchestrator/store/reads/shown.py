"""The steps of a run as people see them: its rows, and what a function did in its own process (docs/adr/0023)."""

from __future__ import annotations

_SAME = (
    *("id", "run_id", "position", "name", "status", "reason", "attempt", "attempt_base", "lost_count", "max_attempts"),
    *("worker_id", "queue", "ready_at", "started_at", "finished_at", "next_attempt_at", "cancel_requested_at"),
    *("progress", "error", "wait", "pool", "slots", "function", "reused_step_id", "held_at", "held_by", "hold_reason"),
    *("items_total", "items_made", "items_open", "items_failed", "items_first", "items", "input", "output"),
)
# Of a step in the function's process: its entry, or the last of its failed tries while there is to be another.
_JOURNALED = {
    "run_id": "j.run_id",
    "position": "j.position",
    "name": "j.key",
    "status": "CASE WHEN j.part = 0 THEN j.status ELSE 'ready' END",
    "attempt": "CASE WHEN j.part > 0 THEN j.part - 1 ELSE 1 + (SELECT count(*) FROM workflow_journal t"
    " WHERE t.run_id = j.run_id AND t.position = j.position AND t.part > 1) END::int",
    "attempt_base": "0",
    "lost_count": "0",
    "slots": "1",
    "function": "j.key",
    "finished_at": "CASE WHEN j.part = 0 THEN j.at END",
    "next_attempt_at": "CASE WHEN j.part > 0 THEN j.due_at END",
    "output": "CASE WHEN j.part = 0 THEN j.value END",
    "error": "j.error",
}
_TYPES = (
    dict.fromkeys(("id", "reused_step_id"), "uuid")
    | dict.fromkeys(("ready_at", "started_at", "cancel_requested_at", "held_at"), "timestamptz")
    | dict.fromkeys(("progress", "wait", "items", "input"), "json")
    | dict.fromkeys(("max_attempts", "items_total", "items_made", "items_open", "items_failed", "items_first"), "int")
)


def _journaled(name: str) -> str:
    return _JOURNALED.get(name) or f"CAST(NULL AS {_TYPES.get(name, 'text')})"


# In the place of `workflow_run_steps` in a statement that has `run_id` in its condition.
SHOWN = f"""(
  SELECT {", ".join(_SAME)} FROM workflow_run_steps
  UNION ALL
  SELECT {", ".join(map(_journaled, _SAME))} FROM workflow_journal j
  WHERE j.verb = 'step' AND j.part <> 1 AND (j.part = 0 OR NOT EXISTS (SELECT FROM workflow_journal l
    WHERE l.run_id = j.run_id AND l.position = j.position AND (l.part = 0 OR l.part > j.part)))
)"""
