"""Faults of schedules, planted in their rows."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import text

from orchestrator.services.coordinate import tick
from orchestrator.services.schedules import set_schedule
from tests.documents import document, step
from tests.hands import Hands

AGO = "orchestrator_now() - interval '1 hour'"
FIRE = "INSERT INTO schedule_fires (schedule_id, fire_at, cause, status, run_id) SELECT id, now(), 'due',"


def scheduled(hands: Hands) -> str:
    """A schedule one of whose runs is open, and one waits for its turn; the run's id."""
    run_id = hands.start(document(step("a")))
    set_schedule(hands.engine, "s", {"workflow": "w", "interval_seconds": 3600, "overlap": "queue"}, actor="test")
    change(hands, f"{FIRE} 'started', '{run_id}' FROM schedules")
    change(hands, "INSERT INTO schedule_fires (schedule_id, fire_at, cause, status)"
           f" SELECT id, {AGO}, 'due', 'waiting' FROM schedules")  # fmt: skip
    tick(hands.engine)
    return run_id


def change(hands: Hands, sql: str) -> None:
    with hands.db.transaction() as conn:
        assert conn.execute(text(sql)).rowcount


def _plant(*statements: str) -> Callable[[Hands], None]:
    def do(hands: Hands) -> None:
        scheduled(hands)
        for statement in statements:
            change(hands, statement)

    return do


PLANTED: dict[str, Callable[[Hands], None]] = {
    "schedule_never_due": _plant("UPDATE schedules SET due_at = NULL"),
    "schedule_overdue": _plant(f"UPDATE schedules SET due_at = {AGO}"),
    "fire_not_followed": _plant("UPDATE schedule_fires SET run_id = gen_random_uuid() WHERE status = 'started'"),
    "fire_not_begun": _plant(
        f"UPDATE schedule_fires SET decided_at = {AGO}", "DELETE FROM schedule_fires WHERE status = 'started'"
    ),
}
