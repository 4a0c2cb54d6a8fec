"""The trace a run belongs to."""

from __future__ import annotations

from sqlalchemy import Connection, text

from orchestrator.domain.tracing import trace_of
from orchestrator.store.traces import CALLER

_TRACE = text(f"""
SELECT r.root_id, {CALLER.format(root="r.root_id")} AS traceparent FROM workflow_runs r WHERE r.id = :id
""")


def trace_id(conn: Connection, run_id: str) -> str | None:
    """Its id, whether anybody tells it or not; None for a run that is gone."""
    row = conn.execute(_TRACE, {"id": run_id}).first()
    return None if row is None else trace_of(str(row.root_id), row.traceparent)
