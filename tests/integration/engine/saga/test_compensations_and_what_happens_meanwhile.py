"""Compensations that end at once, past the run's deadline, by an operator's hand, and of what a rerun has kept."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.mark import mark
from orchestrator.services.register import register
from orchestrator.services.rerun import rerun
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands

WAITS = {"wait_for": {"event": "undo"}}


@pytest.mark.parametrize(
    "undo", [{"pass": True}, {"function": "ok", "when": "false"}, {"function": "ok", "when": "1 / 0"}]
)
def test_any_number_of_compensations_may_end_as_they_begin(db: Database, undo: dict[str, Any]) -> None:
    hands = Hands(db)
    names = [f"s{i}" for i in range(200)]
    done = [{"name": name, "pass": True, "compensate": undo} for name in names]
    run_id = hands.start(document(*done, step("bad", *names, function="fail"), on_finish={"pass": True}))
    hands.work()
    found = hands.steps(run_id)
    assert (hands.status(run_id), found["on_finish"]["status"]) == ("failed", "succeeded")
    assert len({found[f"compensate {name}"]["status"] for name in names}) == 1


def test_a_deadline_that_passes_while_a_canceled_run_is_undone_stops_nothing(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a", compensate=WAITS), {"name": "b", **WAITS}, timeout=100))
    hands.work()
    cancel(hands.engine, run_id)
    hands.work()
    with db.transaction() as conn:
        conn.execute(text("UPDATE workflow_runs SET deadline_at = now() - interval '1 second'"))
    for _ in range(3):
        tick(hands.engine)
    assert "run.halted" not in hands.events(run_id)
    assert hands.steps(run_id)["compensate a"]["status"] == "waiting"


def undone(hands: Hands, **keys: Any) -> str:
    run_id = hands.start(
        document(
            step("a", compensate={"function": "ok"}),
            step("b", "a", compensate=WAITS),
            step("bad", "b", function="fail"),
        )
    )
    hands.work()
    return run_id


def test_a_compensation_under_way_can_be_marked_and_the_next_one_follows(db: Database) -> None:
    hands = Hands(db)
    run_id = undone(hands)
    mark(hands.engine, run_id, "compensate b", StepStatus.SUCCEEDED)
    hands.work()
    assert (hands.status(run_id), hands.steps(run_id)["compensate a"]["status"]) == ("failed", "succeeded")


def test_a_handler_or_compensation_that_has_ended_is_not_marked(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(
        document(
            step("a", compensate={"function": "fail"}),
            step("bad", "a", function="fail"),
            on_finish={"function": "fail"},
        )
    )
    hands.work()
    for name in ("compensate a", "on_finish"):
        with pytest.raises(Conflict, match="not under way"):
            mark(hands.engine, run_id, name, StepStatus.SUCCEEDED)
    assert hands.status(run_id) == "failed"


def test_a_rerun_does_not_undo_what_it_has_kept_of_a_run_that_succeeded(db: Database) -> None:
    told: list[str] = []
    hands = Hands(db, {"undo": lambda: told.append("undone")})
    first = step("a", compensate={"function": "undo"})
    run_id = hands.start(document(first, step("b", "a")))
    hands.work()
    register(hands.engine, document(first, step("b", "a", function="fail")), actor="test")
    for _ in range(2):
        made = rerun(hands.engine, run_id, from_steps="b", revision="latest")
        hands.work()
        assert hands.status(made.run_id) == "failed"
    assert told == []
