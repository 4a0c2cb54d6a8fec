"""The history of a run, and the audit of what people did to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.store.transition import as_text

_EVENT = text("""
INSERT INTO run_events (run_id, step_id, kind, data)
SELECT :run_id, id, :kind, CAST(data AS json) FROM unnest(CAST(:ids AS uuid[]), CAST(:data AS text[])) AS e (id, data)
""")


def record(
    conn: Connection, run_id: str, kind: str, data: Mapping[str, Any] | None = None, step_id: str | None = None
) -> None:
    """Append one event. A step's plain success has none: its row and attempt say it already."""
    record_all(conn, run_id, kind, [(step_id, data)])


def record_all(
    conn: Connection, run_id: str, kind: str, events: Sequence[tuple[str | None, Mapping[str, Any] | None]]
) -> None:
    """Append events of one kind, each with its step and data."""
    values = {"ids": [step for step, _ in events], "data": [as_text(data) for _, data in events]}
    conn.execute(_EVENT, values | {"run_id": run_id, "kind": kind})


def act(
    conn: Connection,
    run_id: str,
    kind: str,
    action: str,
    actor: str,
    reason: str | None,
    *,
    bulk_id: str | None = None,
    step_id: str | None = None,
    **data: Any,
) -> None:
    """Append what a person did to a run to its history, as an event of this kind, and to the audit log."""
    record(conn, run_id, kind, {"reason": reason, **data, "actor": actor}, step_id)
    audit(conn, actor, action, "run", run_id, reason, data or None, bulk_id)


_AUDIT = text("""
INSERT INTO audit_log (actor, action, target_kind, target_id, reason, data, bulk_id)
VALUES (:actor, :action, :target_kind, :target_id, :reason, CAST(:data AS json), :bulk_id)
""")


def audit(
    conn: Connection,
    actor: str,
    action: str,
    target_kind: str,
    target_id: str,
    reason: str | None = None,
    data: Mapping[str, Any] | None = None,
    bulk_id: str | None = None,
) -> None:
    """Append an act to the audit log: who, what, to what, why; `bulk_id`: of which bulk it is a part."""
    values = {"actor": actor, "action": action, "target_kind": target_kind, "target_id": target_id}
    conn.execute(_AUDIT, values | {"reason": reason, "data": as_text(data), "bulk_id": bulk_id})


_AUDIT_AT_TIMES = text("""
INSERT INTO audit_log (actor, action, target_kind, target_id, data)
SELECT :actor, :action, :target_kind, :target_id, CAST(:data AS json)
WHERE NOT EXISTS (SELECT FROM audit_log WHERE target_id = :target_id AND target_kind = :target_kind
  AND action = :action AND at > orchestrator_now() - interval '1 minute')
""")


def audit_at_times(
    conn: Connection, actor: str, action: str, target_kind: str, target_id: str, data: Mapping[str, Any]
) -> None:
    """The same for what anybody may do as often as they like: once a minute."""
    values = {"actor": actor, "action": action, "target_kind": target_kind, "target_id": target_id}
    conn.execute(_AUDIT_AT_TIMES, values | {"data": as_text(data)})
