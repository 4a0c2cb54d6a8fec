"""Sub-workflows whose runs are limited, and compensations above and below (docs/adr/0017)."""

from __future__ import annotations

from typing import Any

from orchestrator import testing
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.pause import pause, resume
from orchestrator.services.start import start
from orchestrator.store.db import Database
from tests.documents import FUNCTIONS, document, step
from tests.families import below, children_of, levels, line, only_child, start_family, unwatched
from tests.hands import SUCCESS, Hands


def limited(**keys: Any) -> list[dict[str, Any]]:
    """A parent, and a child of whose workflow one run may be active."""
    first, last = levels("top", "low")
    return [first, last | {"max_active_runs": 1} | keys]


def second_waits(db: Database, **keys: Any) -> tuple[Hands, str, str, Any]:
    """Two parents whose children may not both be active; the attempt of the first child's step is held."""
    hands = Hands(db)
    first = start_family(hands, *limited(**keys))
    for claimed in hands.claim():
        hands.settle(claimed)
    (leaf,) = hands.claim()
    second = start(hands.engine, "top").run_id
    hands.work()
    return hands, first, second, leaf


def test_a_child_waits_for_its_turn_and_its_parent_with_it(db: Database) -> None:
    hands, first, second, leaf = second_waits(db)
    assert line(hands, second) == ["running", "pending"]
    hands.settle(leaf, SUCCESS)
    hands.work()
    assert [line(hands, one) for one in (first, second)] == [["succeeded", "succeeded"]] * 2
    assert unwatched(hands) == []


def test_a_child_that_waits_for_its_turn_is_canceled_with_its_parent(db: Database) -> None:
    hands, first, second, leaf = second_waits(db)
    cancel(hands.engine, second)
    hands.work()
    assert line(hands, second) == ["canceled", "canceled"]
    hands.settle(leaf, SUCCESS)
    hands.work()
    assert line(hands, first) == ["succeeded", "succeeded"]


def test_a_child_whose_turn_comes_while_its_parent_is_paused_is_paused_too(db: Database) -> None:
    hands, _, second, leaf = second_waits(db)
    pause(hands.engine, second)
    hands.settle(leaf, SUCCESS)
    tick(hands.engine)
    assert line(hands, second) == ["paused", "paused"]
    resume(hands.engine, second)
    hands.work()
    assert line(hands, second) == ["succeeded", "succeeded"]


def test_a_limit_that_refuses_the_child_fails_the_attempt_and_no_run_is_made(db: Database) -> None:
    hands, _, second, _ = second_waits(db, on_limit="reject")
    assert (hands.status(second), children_of(hands, second)) == ("failed", [])
    error = hands.steps(second)["down"]["error"]
    assert error["type"] == "LimitReached"
    assert error["message"].startswith("1 runs are active already")


def test_a_refused_child_is_tried_again_as_the_steps_retry_says(db: Database) -> None:
    documents = limited(on_limit="reject")
    documents[0]["steps"][0]["retry"] = {"max_attempts": 2, "delay": 0, "retry_on": "LimitReached"}
    hands = Hands(db)
    start_family(hands, *documents)
    for claimed in hands.claim():
        hands.settle(claimed)
    (leaf,) = hands.claim()
    second = start(hands.engine, "top").run_id
    for _ in range(2):
        for claimed in hands.claim():
            hands.settle(claimed)
    hands.settle(leaf, SUCCESS)
    hands.work()
    assert line(hands, second) == ["succeeded", "succeeded"]
    assert hands.steps(second)["down"]["attempts"] == 2


def test_a_child_may_take_the_place_of_the_oldest_whose_parent_then_fails(db: Database) -> None:
    hands, first, second, leaf = second_waits(db, on_limit="cancel_oldest")
    assert line(hands, first) == ["running", "canceling"]
    hands.settle(leaf, SUCCESS)
    hands.work()
    assert [line(hands, one) for one in (first, second)] == [["failed", "canceled"], ["succeeded", "succeeded"]]


def test_a_workflow_that_runs_itself_does_not_wait_for_its_own_turn() -> None:
    again = below("again", "w", input={"n": "{{ input.n - 1 }}"}, when="input.n > 0")
    done = testing.run(document(again, step("own"), max_active_runs=1), {"n": 3}, FUNCTIONS)
    assert (done.status, done.children[0].children[0].children[0].status) == ("succeeded", "succeeded")


def test_an_orphans_compensations_come_to_their_end(db: Database) -> None:
    hands = Hands(db)
    child = document(step("paid", compensate={"function": "ok"}), step("leaf", "paid"), name="low")
    run_id = start_family(hands, levels("top", "low")[0], child)
    for _ in range(2):
        for claimed in hands.claim():
            hands.settle(claimed)
    cancel(hands.engine, run_id, force=True)
    tick(hands.engine)
    tick(hands.engine)
    assert line(hands, run_id) == ["canceled", "canceling"]
    hands.work()
    assert line(hands, run_id) == ["canceled", "canceled"]
    assert hands.steps(only_child(hands, run_id))["compensate paid"]["status"] == "succeeded"


def test_a_compensation_may_be_a_sub_workflow_and_a_sub_workflow_be_compensated(db: Database) -> None:
    hands = Hands(db)
    down = below("down", "low", compensate={"workflow": "undo", "input": {"what": "{{ steps.down.output }}"}})
    parent = document(down, step("bad", "down", function="fail"), name="top")
    undo = document(step("undone", input={"what": "{{ input.what }}"}), name="undo")
    run_id = start_family(hands, parent, levels("low")[0], undo)
    hands.work()
    assert hands.status(run_id) == "failed"
    assert hands.steps(run_id)["compensate down"]["output"] == {"undone": {"what": {"leaf": {}}}}
    assert [hands.status(one) for one in children_of(hands, run_id)] == ["succeeded", "succeeded"]
