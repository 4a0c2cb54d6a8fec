"""Attempts by the claim their worker holds, for the worker's own Keeper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

_HELD = text("""
SELECT s.id, s.claim_token, s.run_id, r.revision_id, s.position, s.attempt, s.queue
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id
WHERE s.id = :id AND s.claim_token = :token AND s.status = 'running'
""")


def find_held(conn: Connection, step_id: str, token: str) -> Row[Any] | None:
    """The running attempt under this claim; None when the claim no longer holds."""
    return conn.execute(_HELD, {"id": step_id, "token": token}).first()


_STILL = text("""
SELECT s.claim_token FROM workflow_run_steps s
JOIN unnest(CAST(:ids AS uuid[]), CAST(:tokens AS uuid[])) AS c (id, token)
  ON s.id = c.id AND s.claim_token = c.token AND s.status = 'running'
""")


def still_held(conn: Connection, attempts: Sequence[tuple[str, str]]) -> set[str]:
    """Which of these (step id, token) are still running under their claim; writes nothing."""
    values = {"ids": [a[0] for a in attempts], "tokens": [a[1] for a in attempts]}
    return set(conn.execute(_STILL, values).scalars())
