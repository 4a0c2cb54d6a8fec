"""An operator's retry of a parent goes on with the run its failed step had started (docs/adr/0017)."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.outcome import Outcome
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.register import register
from orchestrator.services.retry import retry
from orchestrator.store.db import Database
from tests.documents import Document, document, step
from tests.families import below, children_of, column, levels, line, only_child, start_family, unwatched
from tests.hands import Hands

CHILD = document(step("first"), step("second", "first", function="shaky"), name="low")


class Shaky:
    """A function that fails while it is told to."""

    def __init__(self) -> None:
        self.fails = True

    def __call__(self) -> str:
        if self.fails:
            raise RuntimeError("no luck")
        return "fine"


@pytest.fixture
def shaky() -> Shaky:
    return Shaky()


@pytest.fixture
def hands(db: Database, shaky: Shaky) -> Hands:
    def call() -> str:
        return shaky()

    return Hands(db, {"shaky": call})


def failed(hands: Hands, *documents: Document, input: Any = None) -> str:
    run_id = start_family(hands, *documents, input=input)
    hands.work()
    assert hands.status(run_id) == "failed"
    return run_id


def test_the_child_goes_on_and_its_succeeded_steps_are_not_run_again(hands: Hands, shaky: Shaky) -> None:
    run_id = failed(hands, levels("top", "low")[0], CHILD)
    shaky.fails = False
    retry(hands.engine, run_id)
    hands.work()
    child = only_child(hands, run_id)
    assert line(hands, run_id) == ["succeeded", "succeeded"]
    attempts = {name: row["attempts"] for name, row in hands.steps(child).items()}
    assert attempts == {"first": 1, "second": 2}
    assert (hands.steps(run_id)["down"]["child_run_id"], unwatched(hands)) == (child, [])


def test_it_goes_down_through_all_levels(hands: Hands, shaky: Shaky) -> None:
    run_id = failed(hands, *levels("top", "middle", "low")[:2], CHILD)
    shaky.fails = False
    retry(hands.engine, run_id)
    hands.work()
    assert line(hands, run_id) == ["succeeded"] * 3


def test_a_child_that_fails_again_fails_its_parent_again(hands: Hands, shaky: Shaky) -> None:
    run_id = failed(hands, levels("top", "low")[0], CHILD)
    retry(hands.engine, run_id)
    hands.work()
    assert line(hands, run_id) == ["failed", "failed"]
    assert hands.steps(run_id)["down"]["attempts"] == 2


def test_of_several_attempts_the_last_ones_child_goes_on_and_further_attempts_have_new_ones(
    hands: Hands, shaky: Shaky
) -> None:
    parent = document(below("down", "low", retry={"max_attempts": 2}), name="top")
    run_id = failed(hands, parent, CHILD)
    _, second = children_of(hands, run_id)
    retry(hands.engine, run_id)
    hands.work()
    first, again, third = children_of(hands, run_id)
    assert again == second
    tried = [hands.steps(one)["second"]["attempts"] for one in (first, second, third)]
    assert (tried, hands.steps(run_id)["down"]["attempts"]) == ([1, 2, 1], 4)


def test_another_input_starts_another_child(hands: Hands, shaky: Shaky) -> None:
    first = step("first", function="shaky", on_error="continue")
    parent = document(
        first, below("down", "low", depends_on="first", input={"x": "{{ steps.first.attempt }}"}), name="top"
    )
    last = below("last", "low", depends_on=["down"])
    run_id = failed(hands, parent | {"steps": [*parent["steps"], last]}, CHILD)
    shaky.fails = False
    retry(hands.engine, run_id)  # runs `first` again, whose attempt is the child's input
    hands.work()
    assert [hands.status(one) for one in children_of(hands, run_id)] == ["failed", "succeeded", "succeeded"]


def test_another_workflow_of_that_name_starts_another_child_of_the_same_a_new_revision_does_not(
    hands: Hands, shaky: Shaky
) -> None:
    run_id = failed(hands, levels("top", "low")[0], CHILD)
    register(hands.engine, document(step("other"), name="low"))
    shaky.fails = False
    retry(hands.engine, run_id)
    hands.work()
    assert list(hands.steps(only_child(hands, run_id))) == ["first", "second"]


def test_a_canceled_parent_goes_on_with_its_canceled_child(hands: Hands, shaky: Shaky) -> None:
    shaky.fails = False
    run_id = start_family(hands, levels("top", "low")[0], CHILD)
    for _ in range(2):
        for claimed in hands.claim():
            hands.settle(claimed)
    cancel(hands.engine, run_id)
    hands.work()
    assert line(hands, run_id) == ["canceled", "canceled"]
    retry(hands.engine, run_id)
    hands.work()
    assert line(hands, run_id) == ["succeeded", "succeeded"]
    assert hands.steps(only_child(hands, run_id))["first"]["attempts"] == 1


def test_a_child_that_is_retried_by_itself_is_on_its_own_and_its_parent_stays_as_it_is(
    hands: Hands, shaky: Shaky
) -> None:
    run_id = failed(hands, levels("top", "low")[0], CHILD)
    child = only_child(hands, run_id)
    shaky.fails = False
    retry(hands.engine, child)
    assert column(hands, child, "parent_waits") is False
    tick(hands.engine)  # does not take it for an orphan
    hands.work()
    assert line(hands, run_id) == ["failed", "succeeded"]


@pytest.mark.parametrize("worked", [True, False], ids=["has ended", "still runs"])
def test_a_parent_that_is_retried_later_takes_what_its_retried_child_gives(
    hands: Hands, shaky: Shaky, worked: bool
) -> None:
    run_id = failed(hands, levels("top", "low")[0], CHILD)
    shaky.fails = False
    retry(hands.engine, only_child(hands, run_id))
    if worked:
        hands.work()
    retry(hands.engine, run_id)
    hands.work()
    assert line(hands, run_id) == ["succeeded", "succeeded"]
    assert hands.steps(only_child(hands, run_id))["second"]["attempts"] == 2


def test_a_step_that_failed_although_its_child_succeeded_takes_what_that_gave(hands: Hands) -> None:
    parent = document(below("down", "low", publish={"n": "{{ result.none }}"}), name="top")
    run_id = failed(hands, parent, levels("low")[0])
    retry(hands.engine, run_id)
    hands.work()
    assert (len(children_of(hands, run_id)), hands.status(run_id)) == (1, "failed")


def test_a_handler_runs_its_sub_workflow_anew_when_its_run_ends_again(hands: Hands, shaky: Shaky) -> None:
    parent = document(step("a", function="shaky"), name="top", on_finish={"workflow": "low"})
    run_id = failed(hands, parent, levels("low")[0])
    shaky.fails = False
    retry(hands.engine, run_id)
    hands.work()
    assert hands.status(run_id) == "succeeded"
    assert [hands.status(one) for one in children_of(hands, run_id)] == ["succeeded", "succeeded"]


def test_a_first_half_that_was_lost_after_a_retry_still_goes_on_with_the_child(hands: Hands, shaky: Shaky) -> None:
    run_id = failed(hands, levels("top", "low")[0], CHILD)
    shaky.fails = False
    retry(hands.engine, run_id)
    (claimed,) = hands.claim()
    hands.settle(claimed, Outcome.lost("killed"))
    hands.work()
    assert line(hands, run_id) == ["succeeded", "succeeded"]
