"""What step functions logged and printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line; `stream` is stdout, stderr or log."""

    at: datetime
    stream: str
    level: str
    message: str


_APPEND = text("""
INSERT INTO step_logs (run_id, step_id, attempt, at, stream, level, message)
SELECT s.run_id, s.id, s.attempt, l.at, l.stream, l.level, l.message
FROM (SELECT id, run_id, attempt FROM workflow_run_steps
      WHERE id = :step_id AND claim_token = :token AND status = 'running' FOR SHARE) s,
  unnest(CAST(:at AS timestamptz[]), CAST(:stream AS text[]), CAST(:level AS text[]), CAST(:message AS text[]))
    WITH ORDINALITY AS l (at, stream, level, message, place)
ORDER BY l.place
""")


def append_logs(conn: Connection, step_id: str, token: str, lines: Sequence[LogLine]) -> bool:
    """Store an attempt's lines, fenced: False, and nothing stored, when its claim no longer holds."""
    values = {name: [getattr(line, name) for line in lines] for name in LogLine.__slots__}
    return conn.execute(_APPEND, values | {"step_id": step_id, "token": token}).rowcount > 0
