"""Runs as lines of JSON: what the lines are, and what becomes of a run that was open when it was written down.

A line `archive` has the format's number; then come lines `revision`, and trees of runs, each from a line `tree` to a
line `end` that says how many lines lie between (docs/retention.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.states import RUN_OPEN, STEP_OPEN

FORMAT = 1
HEAD, REVISION, TREE, END, HISTORY, RUN = "archive", "revision", "tree", "end", "history", "run"
# By the kind of line, the table whose row it is.
TABLES: Mapping[str, str] = {
    RUN: "workflow_runs",
    "step": "workflow_run_steps",
    "attempt": "workflow_step_attempts",
    "journal": "workflow_journal",
    "signal": "workflow_signals",
    "log": "step_logs",
    "event": "run_events",
    "child": "workflow_children",
}
TAG = "imported"
IMPORTED = "run.imported"  # the kind of event
_SENT = ("queued", "running")


def frozen_run(row: dict[str, Any], now: str) -> dict[str, Any]:
    """The run's row as it comes into another database: one that was open is paused, and nothing hurries it."""
    if row["status"] not in RUN_OPEN:
        return row
    was = "paused" if row["status"] == "paused" else f"{row['status']} when it was exported"
    kept = {name: value for name, value in row.items() if name not in ("deadline_at", "halting", "limit_key")}
    child = row.get("parent_run_id") is not None
    return kept | {
        "status": "paused",
        "paused_at": now,
        "pause_reason": row.get("pause_reason") or f"imported; it was {was}",
        "paused_with_parent": child,
    }


def frozen_step(row: dict[str, Any]) -> dict[str, Any]:
    """The same of a step: nobody has it any more."""
    if row["status"] not in STEP_OPEN:
        return row
    gone = ("claim_token", "lease_expires_at", "attempt_deadline_at", "total_deadline_at", "queued_at")
    kept = {name: value for name, value in row.items() if name not in gone}
    if row["status"] in _SENT:
        kept["status"] = "ready"
    return kept
