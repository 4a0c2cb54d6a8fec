"""Messages on their way: stored with what they tell, claimed by one process at a time, sent at least once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.ids import new_id
from orchestrator.store.db import Database
from orchestrator.store.transition import as_text

_ADD = text("""
INSERT INTO alert_deliveries (id, rule_id, alert_id, channel, state, message, due_at)
VALUES (:id, :rule_id, :alert_id, :channel, :state, CAST(:message AS json), orchestrator_now())
""")


def add(
    conn: Connection, rule_id: str, alert_id: str | None, channel: str, state: str, message: Mapping[str, Any]
) -> str:
    """A message to be sent; its id, which is the same however often it is."""
    values = {"id": new_id(), "rule_id": rule_id, "alert_id": alert_id, "channel": channel, "state": state}
    conn.execute(_ADD, values | {"message": as_text(message)})
    return str(values["id"])


# The messages of a rule to one channel go one after another: a `resolved` never comes before what it is about.
_CLAIM = text("""
WITH heads AS (
  SELECT DISTINCT ON (d.rule_id, d.channel) d.id, d.due_at FROM alert_deliveries d WHERE d.due_at IS NOT NULL
  ORDER BY d.rule_id, d.channel, d.id
), mine AS (
  SELECT d.id FROM alert_deliveries d WHERE d.due_at <= orchestrator_now()
    AND d.id IN (SELECT h.id FROM heads h WHERE h.due_at <= orchestrator_now() ORDER BY h.due_at LIMIT :limit)
  FOR UPDATE SKIP LOCKED
)
UPDATE alert_deliveries d SET attempts = d.attempts + 1, due_at = orchestrator_now() + make_interval(secs => :lease)
FROM mine m, alert_rules k LEFT JOIN apps a ON a.id = k.app_id
WHERE d.id = m.id AND k.id = d.rule_id
RETURNING d.id, d.channel, d.state, d.message, d.attempts, d.created_at, k.name AS rule, a.name AS app, k.url, k.secret,
  k.emails, CAST(extract(epoch FROM orchestrator_now() - d.created_at) AS float8) AS age
""")
_SENT = text("""
UPDATE alert_deliveries SET due_at = NULL, sent_at = orchestrator_now(), error = NULL
WHERE id = :id AND attempts = :attempts AND due_at IS NOT NULL
""")
_FAILED = text("""
UPDATE alert_deliveries SET error = :error,
  due_at = CASE WHEN CAST(:wait AS float8) IS NOT NULL THEN orchestrator_now() + make_interval(secs => :wait) END,
  given_up_at = CASE WHEN CAST(:wait AS float8) IS NULL THEN orchestrator_now() END
WHERE id = :id AND attempts = :attempts AND due_at IS NOT NULL
""")


def claim(conn: Connection, limit: int, lease: float) -> Sequence[Row[Any]]:
    """Messages to be sent now, for nobody else to send within `lease` seconds; each counts as an attempt."""
    return conn.execute(_CLAIM, {"limit": limit, "lease": lease}).all()


def note_sent(conn: Connection, id: str, attempts: int) -> None:
    """This attempt has delivered it."""
    conn.execute(_SENT, {"id": id, "attempts": attempts})


def note_failed(conn: Connection, id: str, attempts: int, error: str, wait: float | None) -> None:
    """This attempt has not; the next is in `wait` seconds, or (None) there is none."""
    conn.execute(_FAILED, {"id": id, "attempts": attempts, "error": error, "wait": wait})


# One statement a look, when there is nothing to do. While all rules are paused it is looked too: what happens meanwhile
# is passed over, and not told when one is resumed.
_WANTED = """
SELECT EXISTS (SELECT FROM alert_rules),
  EXISTS (SELECT FROM alert_deliveries WHERE due_at IS NOT NULL)
"""


def wanted(db: Database) -> tuple[bool, bool]:
    """Whether there are rules to look by, and messages to send."""
    looks, sends = db.call(_WANTED, [])[0]
    return bool(looks), bool(sends)
