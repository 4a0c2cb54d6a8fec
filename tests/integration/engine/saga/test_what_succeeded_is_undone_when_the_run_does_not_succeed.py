"""`compensate`: steps that succeeded are undone, the last first, when their run fails or is canceled."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from orchestrator.errors import Conflict, InvalidDefinition
from orchestrator.services.cancel import cancel
from orchestrator.services.retry import retry
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands


def undoable(name: str, *after: str, **keys: Any) -> dict[str, Any]:
    undo = {"function": "undo", "input": {"what": f"{{{{ steps.{name}.output }}}}"}}
    return step(name, function="do", input={"what": name}, depends_on=list(after), compensate=undo | keys)


class Journal:
    """What was done and undone, in order."""

    def __init__(self, *refuses: str) -> None:
        self.told: list[str] = []
        self.refuses = list(refuses)

    def do(self, what: str) -> str:
        self.told.append(f"do {what}")
        return what

    def undo(self, what: str) -> None:
        self.told.append(f"undo {what}")
        if what in self.refuses:
            self.refuses.remove(what)
            raise ValueError("not now")

    @property
    def functions(self) -> dict[str, Any]:
        return {"do": self.do, "undo": self.undo}


BOOM = step("boom", function="boom", depends_on=["b"])


def test_steps_are_undone_in_the_reverse_of_the_order_in_which_they_succeeded(db: Database) -> None:
    journal = Journal()
    hands = Hands(db, journal.functions)
    run_id = hands.start(document(undoable("a"), undoable("b", "a"), BOOM))
    hands.work()
    assert journal.told == ["do a", "do b", "undo b", "undo a"]
    assert hands.status(run_id) == "failed"
    assert hands.steps(run_id)["compensate a"]["status"] == "succeeded"


def handled(**keys: Any) -> dict[str, Any]:
    return document(undoable("a"), undoable("b", "a"), BOOM, **keys)


def test_handlers_run_after_the_compensations_and_see_them() -> None:
    journal = Journal()
    seen: list[str] = []

    def see(status: str) -> None:
        seen.append(f"{status} {len(journal.told)}")

    told = {"function": "see", "input": {"status": "{{ run.status }}"}}
    run = testing.run(handled(on_failure=told), functions=journal.functions | {"boom": boom, "see": see})
    assert (run.status, seen) == ("failed", ["failed 4"])


def boom() -> None:
    raise ValueError("no")


def test_a_run_that_succeeds_undoes_nothing() -> None:
    journal = Journal()
    run = testing.run(document(undoable("a"), undoable("b", "a")), functions=journal.functions)
    assert (run.status, journal.told) == ("succeeded", ["do a", "do b"])
    assert list(run.steps) == ["a", "b"]


def test_a_canceled_run_is_undone_and_only_what_had_succeeded(db: Database) -> None:
    journal = Journal()
    hands = Hands(db, journal.functions)
    run_id = hands.start(document(undoable("a"), undoable("b", "a"), undoable("c", "b")))
    for claimed in hands.claim():
        hands.settle(claimed)
    cancel(hands.engine, run_id)
    assert hands.status(run_id) == "canceling"
    hands.work()
    assert (journal.told, hands.status(run_id)) == (["do a", "undo a"], "canceled")


def test_a_compensation_is_retried_and_one_that_fails_keeps_no_other_from_its_turn() -> None:
    journal = Journal("b", "a")
    retried = document(undoable("a"), undoable("b", "a", retry={"max_attempts": 2, "delay": 5}), BOOM)
    run = testing.run(retried, functions=journal.functions | {"boom": boom})
    assert journal.told == ["do a", "do b", "undo b", "undo b", "undo a"]
    assert (run.status, (run.error or {})["step"]) == ("failed", "boom")
    assert [run.steps[f"compensate {name}"].status for name in "ab"] == ["failed", "succeeded"]


def test_an_operators_retry_does_again_what_was_undone(db: Database) -> None:
    journal, faults = Journal("a"), [1]

    def once() -> None:
        if faults:
            faults.pop()
            raise ValueError("no")

    hands = Hands(db, journal.functions | {"once": once})
    run_id = hands.start(document(undoable("a"), undoable("b", "a"), step("c", function="once", depends_on=["b"])))
    hands.work()
    assert journal.told == ["do a", "do b", "undo b", "undo a"]  # and that of a failed
    retry(hands.engine, run_id)
    hands.work()
    assert (hands.status(run_id), journal.told[4:]) == ("succeeded", ["do b"])


def test_a_second_failure_undoes_again_what_was_done_again(db: Database) -> None:
    journal = Journal()
    hands = Hands(db, journal.functions)
    run_id = hands.start(handled())
    for _ in range(2):
        hands.work()
        assert hands.status(run_id) == "failed"
        retry(hands.engine, run_id)
    assert journal.told == ["do a", "do b", "undo b", "undo a"] * 2


def test_only_force_cuts_a_compensation_off(db: Database) -> None:
    journal = Journal()
    hands = Hands(db, journal.functions)
    run_id = hands.start(handled())
    while "do b" not in journal.told:
        for claimed in hands.claim():
            hands.settle(claimed)
    for claimed in hands.claim():
        hands.settle(claimed)  # boom
    with pytest.raises(Conflict, match="compensations are under way"):
        cancel(hands.engine, run_id)
    cancel(hands.engine, run_id, force=True)
    hands.work()
    assert (hands.status(run_id), journal.told) == ("failed", ["do a", "do b", "undo a"])


def test_what_cannot_undo_a_step_is_told_where_it_stands() -> None:
    with pytest.raises(InvalidDefinition) as told:
        testing.run(
            document(
                step("a", function="ok", compensate={"input": 1}),
                step("b", function="ok", compensate={"function": "ok", "on_error": "abort", "when": "nothing"}),
                step("compensate b", function="ok"),
            )
        )
    assert {problem.path for problem in told.value.problems} == {
        "steps[0].compensate",
        "steps[1].compensate.on_error",
        "steps[1].compensate.when",
        "steps[2].name",
    }
