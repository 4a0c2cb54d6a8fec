"""Steps that end at the same moment: the run ends, exactly once."""

from __future__ import annotations

from functools import partial

import pytest

from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.services.cancel import cancel
from orchestrator.services.pause import pause, resume
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import SUCCESS, Hands, together

FAILURE = Outcome.failed(ErrorInfo("RuntimeError", "no luck", classes=("RuntimeError", "Exception")))
ENDS = ("run.succeeded", "run.failed", "run.canceled")


def ended_once(hands: Hands, run_id: str, status: str) -> None:
    assert hands.status(run_id) == status
    assert [kind for kind in hands.events(run_id) if kind in ENDS] == [f"run.{status}"]


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_two_last_steps(db: Database, failures: int) -> None:
    hands = Hands(db)
    outcomes = [FAILURE] * failures + [SUCCESS] * (2 - failures)
    for _ in range(50):
        run_id = hands.start(document(step("a"), step("b")))
        together([partial(hands.settle, c, o) for c, o in zip(hands.claim(), outcomes, strict=True)])
        ended_once(hands, run_id, "failed" if failures else "succeeded")


def test_two_last_steps_before_handlers(db: Database) -> None:
    hands = Hands(db)
    for _ in range(25):
        run_id = hands.start(document(step("a"), step("b"), on_success={"function": "ok"}, on_finish={"pass": True}))
        together([partial(hands.settle, claimed, SUCCESS) for claimed in hands.claim()])
        hands.work()
        ended_once(hands, run_id, "succeeded")
        assert hands.steps(run_id)["on_success"]["attempts"] == 1


def test_both_sources_of_a_join(db: Database) -> None:
    hands = Hands(db)
    for _ in range(50):
        run_id = hands.start(document(step("a"), step("b"), step("join", "a", "b")))
        together([partial(hands.settle, claimed, SUCCESS) for claimed in hands.claim()])
        assert len(hands.outbox.messages) == 1, "the join starts once"
        hands.work()
        ended_once(hands, run_id, "succeeded")


def test_both_sources_of_a_join_of_any(db: Database) -> None:
    hands = Hands(db)
    for _ in range(50):
        run_id = hands.start(document(step("a"), step("b"), step("join", "a", "b", join="any")))
        together([partial(hands.settle, claimed, SUCCESS) for claimed in hands.claim()])
        hands.work()
        ended_once(hands, run_id, "succeeded")
        assert hands.steps(run_id)["join"]["attempts"] == 1


@pytest.mark.parametrize("mode", ["drain", "cancel"])
def test_two_failures_that_stop_the_run(db: Database, mode: str) -> None:
    hands = Hands(db)
    for _ in range(25):
        run_id = hands.start(document(step("a"), step("b"), step("c", "a"), failure_mode=mode))
        together([partial(hands.settle, claimed, FAILURE) for claimed in hands.claim()])
        hands.work()
        ended_once(hands, run_id, "failed")


@pytest.mark.parametrize("force", [False, True])
def test_a_cancel_and_the_last_step(db: Database, force: bool) -> None:
    """Whichever comes first; a run that has ended cannot be canceled any more."""
    hands = Hands(db)
    for _ in range(25):
        run_id = hands.start(document(step("a"), step("b", "a")))
        (claimed,) = hands.claim()
        together([partial(hands.settle, claimed, SUCCESS), partial(cancel, hands.engine, run_id, force=force)])
        hands.work()
        ended_once(hands, run_id, "canceled")


def test_a_pause_and_the_last_step(db: Database) -> None:
    hands = Hands(db)
    for _ in range(25):
        run_id = hands.start(document(step("a"), step("b", "a")))
        (claimed,) = hands.claim()
        together([partial(hands.settle, claimed, SUCCESS), partial(pause, hands.engine, run_id)])
        hands.work()
        assert hands.status(run_id) == "paused"
        resume(hands.engine, run_id)
        hands.work()
        ended_once(hands, run_id, "succeeded")
