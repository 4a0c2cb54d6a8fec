"""Alert rules, and what they have made of what happened."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import text

from orchestrator.services.alert_rules import set_rule
from orchestrator.services.seal import Seal
from orchestrator.services.watch_alerts import Watch, watch
from tests.hands import Hands

SEAL = Seal("a key for tests, long enough")
URL = "https://alerts.example/T0/secret-part"


class Alarms:
    """Rules on a hand-driven engine, looked at by as many coordinators as are asked."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands
        self._states: dict[int, Watch] = {}

    def rule(self, name: str = "on-call", app: str | None = None, **given: Any) -> str:
        """Make or change a rule: of failed runs, with a webhook, told at once, unless it says otherwise."""
        usual = {"kinds": ["run_failed"], "webhook": URL, "group_seconds": 0}
        return set_rule(self.hands.engine, SEAL, name, usual | given, app=app, actor="test").id

    def look(self, coordinator: int = 0) -> list[dict[str, Any]]:
        """A look, after what is noted and due has been; the messages that were made since, oldest first."""
        known = {row.id for row in self.rows()}
        state = self._states.setdefault(coordinator, Watch())
        watch(self.hands.engine, state)
        return [row.message for row in self.rows() if row.id not in known]

    def pass_time(self, *, only: str = "", **span: float) -> None:
        """Let alerts and runs be older by so much, or `only` what is in tables whose names begin so."""
        values = {"span": timedelta(**span)}
        with self.hands.db.transaction() as conn:
            for table, columns in _TIMES.items():
                if not table.startswith(only):
                    continue
                changes = ", ".join(f"{column} = {column} - :span" for column in columns)
                conn.execute(text(f"UPDATE {table} SET {changes}"), values)

    def rows(self) -> list[Any]:
        """The deliveries, oldest first."""
        with self.hands.db.transaction() as conn:
            return list(conn.execute(text("SELECT * FROM alert_deliveries ORDER BY id")))

    def alerts(self) -> list[Any]:
        """The alerts, oldest first."""
        with self.hands.db.transaction() as conn:
            return list(conn.execute(text("SELECT * FROM alerts ORDER BY id")))


_TIMES = {
    "alert_rules": ("created_at",),
    "alerts": ("opened_at", "last_at", "sent_at", "due_at", "closed_at"),
    "alert_deliveries": ("created_at", "due_at", "sent_at"),
    "workflow_runs": ("created_at", "started_at", "deadline_at"),
    "workflow_run_steps": ("ready_at", "started_at", "queued_at"),
}


def said(messages: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    """Kind, state and count of each."""
    return [(one["kind"], one["state"], one["count"]) for one in messages]
