"""Alerts: opened, told, closed; the row of a rule's alert about one thing is there once while it lasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.states import RUN_OPEN
from orchestrator.ids import new_id
from orchestrator.store.alert_facts import MOST_RUNS
from orchestrator.store.tables import one_of
from orchestrator.store.transition import as_text


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule has found: `what` is the same as long as it is about the same. `wait`: seconds until it is told."""

    rule_id: str
    kind: str
    what: str
    subject: Mapping[str, Any]
    total: int
    wait: float
    run_ids: Sequence[str] = ()


# What has happened again is counted on; what is still so is not.
_OPEN = text("""
INSERT INTO alerts AS l (id, rule_id, kind, what, subject, total, unsent, due_at)
VALUES (:id, :rule_id, :kind, :what, CAST(:subject AS json), :total, :total,
  orchestrator_now() + make_interval(secs => :wait))
ON CONFLICT (rule_id, kind, what) WHERE closed_at IS NULL DO UPDATE SET subject = excluded.subject,
  last_at = orchestrator_now(), total = l.total + :more, unsent = l.unsent + :more
RETURNING id
""")
_RUNS = text(f"""
INSERT INTO alert_runs (alert_id, run_id) SELECT :id, run_id FROM unnest(CAST(:run_ids AS uuid[])) AS t (run_id)
WHERE :all OR (SELECT count(*) FROM alert_runs WHERE alert_id = :id) < {MOST_RUNS}
ON CONFLICT DO NOTHING
""")


def note(conn: Connection, found: Found) -> None:
    """Open the alert, or add to the one that is open."""
    values = {name: getattr(found, name) for name in ("rule_id", "kind", "what", "total", "wait")}
    more = found.total if found.run_ids else 0
    told = {"id": new_id(), "subject": as_text(found.subject), "more": more}
    id = conn.execute(_OPEN, values | told).scalar_one()
    if found.run_ids:
        conn.execute(_RUNS, {"id": id, "run_ids": list(found.run_ids), "all": found.kind == "run_late"})


_ROW = """
SELECT l.*, orchestrator_now() AS now FROM alerts l JOIN alert_rules k ON k.id = l.rule_id AND k.paused_at IS NULL
"""
_OPEN_OF = text(
    f"{_ROW} WHERE l.closed_at IS NULL AND l.kind = ANY(CAST(:kinds AS text[])) ORDER BY l.id FOR UPDATE OF l"
)
_DUE = text(f"""
{_ROW} WHERE l.due_at <= orchestrator_now() ORDER BY l.due_at, l.id LIMIT :limit FOR UPDATE OF l
""")


def open_alerts(conn: Connection, kinds: Sequence[str]) -> Sequence[Row[Any]]:
    """Those that last, locked, of rules that are not paused."""
    return conn.execute(_OPEN_OF, {"kinds": [str(kind) for kind in kinds]}).all()


def due_alerts(conn: Connection, limit: int) -> Sequence[Row[Any]]:
    """Those of which a message may be due, locked, of rules that are not paused."""
    return conn.execute(_DUE, {"limit": limit}).all()


_SENT = text("""
UPDATE alerts SET sent_at = orchestrator_now(), unsent = 0, due_at = orchestrator_now() + make_interval(secs => :repeat)
WHERE id = :id
""")
_CLOSE = text("""
UPDATE alerts SET closed_at = orchestrator_now(), outcome = :outcome, due_at = NULL WHERE id = :id
""")


def note_sent(conn: Connection, id: str, repeat: float) -> None:
    """A message is made; the next one not before so many seconds."""
    conn.execute(_SENT, {"id": id, "repeat": repeat})


def close(conn: Connection, id: str, outcome: str) -> None:
    """It lasts no longer: `resolved`, or nothing came any more (`quiet`)."""
    conn.execute(_CLOSE, {"id": id, "outcome": outcome})


# One that has failed answers the question at once, so the others are not read.
_OVER = text(f"""
SELECT l.id, EXISTS (SELECT FROM alert_runs x JOIN workflow_runs r ON r.id = x.run_id
  WHERE x.alert_id = l.id AND r.status = 'succeeded') AS recovered
FROM alerts l WHERE l.id = ANY(CAST(:ids AS uuid[]))
  AND (l.kind = 'run_late' OR l.total <= {MOST_RUNS})
  AND NOT EXISTS (SELECT FROM alert_runs x JOIN workflow_runs r ON r.id = x.run_id WHERE x.alert_id = l.id
    AND (r.status IN {one_of(RUN_OPEN)} OR (l.kind = 'run_failed' AND r.status = 'failed')))
""")
_NEWEST = text(f"SELECT run_id FROM alert_runs WHERE alert_id = :id ORDER BY run_id DESC LIMIT {MOST_RUNS}")


def over(conn: Connection, ids: Sequence[str]) -> dict[str, bool]:
    """Those of these alerts of runs whose runs are neither open nor, where that is what they tell, failed any more;
    whether any has succeeded."""
    return {str(row.id): row.recovered for row in conn.execute(_OVER, {"ids": list(ids)})}


def runs_of(conn: Connection, id: str) -> list[str]:
    """Its runs, the newest first, to a bound."""
    return [str(run_id) for run_id in conn.execute(_NEWEST, {"id": id}).scalars()]
