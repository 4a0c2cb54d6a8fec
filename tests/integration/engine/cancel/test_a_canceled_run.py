"""Cancel: graceful and by force, when, and what is left."""

from __future__ import annotations

import pytest

from orchestrator import testing
from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.errors import Conflict, NotFound
from orchestrator.ids import new_id
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.pause import pause
from orchestrator.store import lease
from orchestrator.store.db import Database
from tests.documents import FUNCTIONS, document, step
from tests.hands import SUCCESS, Hands, audited

FAILURE = Outcome.failed(ErrorInfo("RuntimeError", "no luck", classes=("RuntimeError", "Exception")))
WORKFLOW = document(step("a", retry={"max_attempts": 5}), step("b", "a"))


def started(db: Database) -> tuple[Hands, str]:
    hands = Hands(db)
    return hands, hands.start(WORKFLOW)


def test_nothing_that_has_not_started_starts(db: Database) -> None:
    hands, run_id = started(db)
    cancel(hands.engine, run_id, reason="wrong customer", actor="ada")
    assert hands.status(run_id) == "canceled"
    assert {(s["status"], s["reason"]) for s in hands.steps(run_id).values()} == {("canceled", "canceled")}
    assert hands.claim() == []


def test_a_running_attempt_is_told_and_its_result_is_kept(db: Database) -> None:
    hands, run_id = started(db)
    (claimed,) = hands.claim()
    cancel(hands.engine, run_id)
    assert hands.status(run_id) == "canceling"
    with db.transaction() as conn:
        assert lease.set_progress(conn, claimed.step_id, claimed.token, None) is True
    assert not hands.settle(claimed, SUCCESS).stale
    assert hands.status(run_id) == "canceled"
    assert hands.steps(run_id)["a"]["status"] == "succeeded"
    assert hands.steps(run_id)["b"]["status"] == "canceled"


def test_a_running_attempt_that_fails_is_not_tried_again(db: Database) -> None:
    hands, run_id = started(db)
    (claimed,) = hands.claim()
    cancel(hands.engine, run_id)
    hands.settle(claimed, FAILURE)
    assert hands.status(run_id) == "canceled"
    assert (hands.steps(run_id)["a"]["status"], hands.steps(run_id)["a"]["attempts"]) == ("failed", 1)


def test_a_running_attempt_that_is_lost_is_not_run_again(db: Database) -> None:
    hands, run_id = started(db)
    (claimed,) = hands.claim()
    cancel(hands.engine, run_id)
    hands.settle(claimed, Outcome.lost("killed"))
    assert hands.status(run_id) == "canceled"
    assert hands.steps(run_id)["a"]["status"] == "canceled"


def test_force_fences_running_attempts_off(db: Database) -> None:
    hands, run_id = started(db)
    (claimed,) = hands.claim()
    cancel(hands.engine, run_id, force=True)
    assert hands.status(run_id) == "canceled"
    assert hands.settle(claimed, SUCCESS).stale
    assert [entry["outcome"] for entry in hands.steps(run_id)["a"]["history"]] == ["canceled"]


def test_force_may_follow_a_graceful_cancel(db: Database) -> None:
    hands, run_id = started(db)
    hands.claim()
    cancel(hands.engine, run_id)
    cancel(hands.engine, run_id, force=True)
    assert hands.status(run_id) == "canceled"


def test_a_step_that_waits_for_its_next_attempt_does_not_have_it(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a", retry={"max_attempts": 5, "delay": 3600})))
    (claimed,) = hands.claim()
    hands.settle(claimed, FAILURE)
    cancel(hands.engine, run_id)
    tick(hands.engine)
    assert hands.status(run_id) == "canceled"
    assert hands.steps(run_id)["a"]["status"] == "canceled"


def test_a_paused_run_can_be_canceled(db: Database) -> None:
    hands, run_id = started(db)
    pause(hands.engine, run_id)
    cancel(hands.engine, run_id)
    assert hands.status(run_id) == "canceled"


def test_a_run_that_is_over_cannot_be_canceled() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a")))
        box.drive(run_id)
        with pytest.raises(Conflict, match="succeeded"):
            cancel(box.engine, run_id)
        assert box.result(run_id).status == "succeeded"


@pytest.mark.parametrize("force", [False, True], ids=["plain", "force"])
@pytest.mark.parametrize("ending", ["ok", "fail"])
def test_a_run_that_ended_after_its_handler_cannot_be_canceled_and_nothing_is_written(ending: str, force: bool) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", function=ending), on_finish={"function": "ok"}))
        box.drive(run_id)
        before = box.result(run_id)
        with pytest.raises(Conflict, match=f"the run is {before.status}: it cannot be canceled"):
            cancel(box.engine, run_id, force=force)
        assert box.result(run_id) == before
        assert audited(box.connection, "cancel") == []


def test_there_must_be_such_a_run() -> None:
    with testing.sandbox(FUNCTIONS) as box, pytest.raises(NotFound):
        cancel(box.engine, new_id())


def test_handlers_that_are_under_way_are_cut_off_by_force_only() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a"), on_success={"function": "ok"}, on_finish={"function": "ok"}))
        box.step()
        with pytest.raises(Conflict, match="force"):
            cancel(box.engine, run_id)
        cancel(box.engine, run_id, force=True)
        box.drive(run_id)
        result = box.result(run_id)
    assert result.status == "succeeded"
    assert result.steps["on_success"].status == "canceled"


def test_who_canceled_and_why_is_in_the_audit_and_in_the_history() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a")))
        cancel(box.engine, run_id, reason="wrong customer", actor="ada")
        (told,) = [e["data"] for e in box.result(run_id).events if e["kind"] == "run.cancel"]
        assert (told["actor"], told["reason"]) == ("ada", "wrong customer")
        assert audited(box.connection, "cancel") == [("ada", run_id, "wrong customer")]
