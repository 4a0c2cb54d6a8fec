"""An operator's mark: what it ends, what is decided again because of it, and what stays."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause
from orchestrator.services.retry import retry
from orchestrator.store.db import Database
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, on, step
from tests.hands import SUCCESS, Hands, audited
from tests.scripted import FUNCTION, Script
from tests.watching import check_tallies

SUCCEEDED, SKIPPED = StepStatus.SUCCEEDED, StepStatus.SKIPPED


def ends(box: Sandbox, run_id: str) -> dict[str, str]:
    check_tallies(box.connection, box.engine.plan(_revision(box, run_id)), run_id)
    return {s.name: s.status for s in box.result(run_id).steps.values()}


def _revision(box: Sandbox, run_id: str) -> str:
    found = text("SELECT revision_id FROM workflow_runs WHERE id = :id")
    return str(box.connection.execute(found, {"id": run_id}).scalar_one())


def test_a_failed_run_goes_on_from_the_marked_step_with_the_operators_output() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        graph = [
            step("before"),
            step("charge", "before", function="fail"),
            step("ship", "charge", input={"id": "{{ steps.charge.output.id }}"}),
            step("mail", "ship"),
        ]
        run_id = box.start(document(*graph))
        box.drive(run_id)
        assert ends(box, run_id)["ship"] == "upstream_failed"
        assert mark(box.engine, run_id, "charge", SUCCEEDED, output={"id": 7}, reason="paid by hand", actor="ada") == 2
        box.drive(run_id)
        result = box.result(run_id)
        assert ends(box, run_id) == dict.fromkeys(("before", "charge", "ship", "mail"), "succeeded")
        assert (result.status, result.error) == ("succeeded", None)
        assert result.steps["ship"].output == {"id": 7}
        assert (result.steps["before"].attempts, result.steps["charge"].reason) == (1, "marked")
        assert [entry["outcome"] for entry in result.steps["charge"].history] == ["failed"]
        assert audited(box.connection, "mark") == [("ada", run_id, "paid by hand")]


def test_other_failed_steps_stay_failed_and_fail_the_run_again() -> None:
    script = Script({"a": ["failed"], "b": ["failed"]})
    with testing.sandbox(script.functions) as box:
        graph = [step(name, function=FUNCTION) for name in "ab"] + [step("c", "a", function=FUNCTION)]
        run_id = box.start(document(*graph))
        box.drive(run_id)
        mark(box.engine, run_id, "a", SUCCEEDED)
        box.drive(run_id)
        assert box.result(run_id).status == "failed"
        assert ends(box, run_id) == {"a": "succeeded", "b": "failed", "c": "succeeded"}
        retry(box.engine, run_id)
        box.drive(run_id)
        assert box.result(run_id).status == "succeeded"
    assert Counter(script.ran) == {"a": 1, "b": 2, "c": 1}


def test_a_step_marked_skipped_is_seen_as_skipped() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        graph = [
            step("a", function="fail"),
            step("plain", "a"),
            step("asks", depends_on=[on("a", "skipped")]),
            step("failure", depends_on=[on("a", "failure")]),
            step("other", function="fail"),
        ]
        run_id = box.start(document(*graph))
        box.drive(run_id)
        mark(box.engine, run_id, "a", SKIPPED)
        box.drive(run_id)
        ended = ends(box, run_id)
        assert (ended["a"], ended["plain"], ended["asks"]) == ("skipped", "skipped", "succeeded")
        assert ended["failure"] == "succeeded"  # what was started because of the failure has happened


def test_what_began_stays_and_so_does_what_an_operator_marked_before() -> None:
    script = Script({"a": ["failed"], "b": ["skipped"], "d": ["failed", "failed"]})
    with testing.sandbox(script.functions) as box:
        after_a = {"depends_on": [on("a", "complete")], "function": FUNCTION}
        graph = [step("a", function=FUNCTION), step("b", **after_a), step("c", **after_a), step("d", function=FUNCTION)]
        after_d = {"depends_on": [on("d", "complete")], "function": FUNCTION}
        run_id = box.start(document(*graph, step("e", **after_d)))
        for name in ("c", "e"):
            mark(box.engine, run_id, name, SKIPPED)
        box.drive(run_id)
        assert mark(box.engine, run_id, "a", SUCCEEDED) == 0
        box.drive(run_id)
        assert ends(box, run_id) == {"a": "succeeded", "b": "skipped", "c": "skipped", "d": "failed", "e": "skipped"}
        assert retry(box.engine, run_id) == 1
        box.drive(run_id)
    assert Counter(script.ran) == {"a": 1, "b": 1, "d": 2}


def test_edges_with_conditions_are_asked_again_and_see_the_operators_output() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        graph = [
            step("a", function="fail"),
            step("good", depends_on=[on("a", "complete", "result == 5")]),
            step("bad", depends_on=[on("a", "complete", "error")]),
        ]
        run_id = box.start(document(*graph))
        box.drive(run_id)
        assert ends(box, run_id) == {"a": "failed", "good": "upstream_failed", "bad": "succeeded"}
        mark(box.engine, run_id, "a", SUCCEEDED, output=5)
        box.drive(run_id)
        assert ends(box, run_id) == {"a": "succeeded", "good": "succeeded", "bad": "succeeded"}


def test_a_step_that_failed_because_its_join_could_not_be_met_is_decided_again() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        both = step("both", "good", "bad", on_unreachable="fail")
        run_id = box.start(document(step("good"), step("bad", function="fail"), both))
        box.drive(run_id)
        assert ends(box, run_id)["both"] == "failed"
        mark(box.engine, run_id, "bad", SUCCEEDED)
        box.drive(run_id)
        assert box.result(run_id).status == "succeeded"


def test_a_canceled_run_goes_on_with_everything_that_was_canceled() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a"), step("b", "a"), step("beside")))
        cancel(box.engine, run_id)
        assert mark(box.engine, run_id, "a", SUCCEEDED) == 2
        box.drive(run_id)
        result = box.result(run_id)
        assert (result.status, result.steps["a"].attempts) == ("succeeded", 0)


def test_lifecycle_handlers_run_again_and_see_the_new_status() -> None:
    seen: list[Any] = []
    functions = FUNCTIONS | {"see": lambda status, error: seen.append((status, bool(error)))}
    handler = {"function": "see", "input": {"status": "{{ run.status }}", "error": "{{ run.error }}"}}
    with testing.sandbox(functions) as box:
        made = document(step("a", function="fail"), on_failure=handler, on_success=handler, on_finish=handler)
        run_id = box.start(made)
        box.drive(run_id)
        mark(box.engine, run_id, "a", SUCCEEDED)
        box.drive(run_id)
    assert seen == [("failed", True), ("failed", True), ("succeeded", False), ("succeeded", False)]


def test_it_publishes_what_it_would_have_with_this_output() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        a = step("a", function="fail", publish={"id": "{{ result.id }}"})
        run_id = box.start(document(a, step("b", "a", input={"got": "{{ vars.id }}"}), vars={"id": 0}))
        box.drive(run_id)
        with pytest.raises(InvalidInput, match="what 'a' publishes"):
            mark(box.engine, run_id, "a", SUCCEEDED, output=[])
        assert box.result(run_id).status == "failed"
        mark(box.engine, run_id, "a", SUCCEEDED, output={"id": 7})
        box.drive(run_id)
        assert box.result(run_id).steps["b"].output == {"got": 7}


def test_a_step_that_waits_for_its_turn_is_marked_and_what_follows_starts(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a"), step("b", "a"), step("c", "b")))
    (a,) = hands.claim()
    mark(hands.engine, run_id, "b", SUCCEEDED, output=1)
    assert [hands.steps(run_id)[name]["status"] for name in "abc"] == ["running", "succeeded", "queued"]
    hands.settle(a, SUCCESS)
    hands.work()
    assert hands.status(run_id) == "succeeded"
    assert hands.steps(run_id)["b"]["attempts"] == 0


def test_a_step_that_waits_for_its_next_attempt_is_marked_and_has_no_other(db: Database) -> None:
    hands = Hands(db)
    later = {"max_attempts": 2, "delay": 0.01}
    run_id = hands.start(document(step("a", function="fail", retry=later), step("b", "a")))
    (a,) = hands.claim()
    hands.settle(a)
    mark(hands.engine, run_id, "a", SUCCEEDED)
    tick(hands.engine)
    hands.work()
    assert hands.status(run_id) == "succeeded"
    assert [entry["outcome"] for entry in hands.steps(run_id)["a"]["history"]] == ["failed"]


def test_a_queued_step_is_marked_and_its_message_starts_nothing(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a")))
    mark(hands.engine, run_id, "a", SKIPPED)
    assert hands.claim() == []
    assert hands.status(run_id) == "succeeded"


def test_a_running_step_is_cut_off_by_force_only(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a"), step("b", "a")))
    (claimed,) = hands.claim()
    with pytest.raises(Conflict, match="step 'a' is running: only force"):
        mark(hands.engine, run_id, "a", SUCCEEDED)
    mark(hands.engine, run_id, "a", SUCCEEDED, output="mine", force=True)
    assert hands.settle(claimed, Outcome.succeeded("late", '"late"')).stale
    hands.work()
    a = hands.steps(run_id)["a"]
    assert (hands.status(run_id), a["output"]) == ("succeeded", "mine")
    assert [entry["outcome"] for entry in a["history"]] == ["canceled"]


@pytest.mark.parametrize("waits", [{"sleep": 3600}, {"wait_for": {"event": "paid", "timeout": 60}}])
def test_a_step_that_waits_without_a_worker_is_marked_and_not_woken_again(waits: dict[str, Any]) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        a = {"name": "a", **waits}
        run_id = box.start(document(a, step("b", "a", input={"got": "{{ steps.a.output }}"})))
        box.step()
        assert ends(box, run_id)["a"] == "waiting"
        mark(box.engine, run_id, "a", SUCCEEDED, output=5)
        box.clock.skip(timedelta(seconds=7200))
        tick(box.engine)
        box.drive(run_id)
        result = box.result(run_id)
        assert (result.status, result.steps["b"].output) == ("succeeded", {"got": 5})


def test_in_a_paused_run_what_follows_waits() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a"), step("b", "a")))
        pause(box.engine, run_id)
        mark(box.engine, run_id, "a", SUCCEEDED)
        box.drive(run_id)
        assert ends(box, run_id) == {"a": "succeeded", "b": "ready"}
        assert box.result(run_id).status == "paused"


def test_a_handler_under_way_can_be_marked_and_one_that_is_not_cannot() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        made = document(step("a"), on_success={"function": "ok"}, on_finish={"function": "ok"})
        run_id = box.start(made)
        with pytest.raises(Conflict, match="the handler 'on_success' is not under way"):
            mark(box.engine, run_id, "on_success", SUCCEEDED)
        box.step()
        with pytest.raises(Conflict, match="ending as succeeded"):
            mark(box.engine, run_id, "a", SKIPPED)
        mark(box.engine, run_id, "on_success", SKIPPED)
        box.drive(run_id)
        result = box.result(run_id)
        assert (result.status, result.steps["on_finish"].status) == ("succeeded", "succeeded")


def test_a_run_that_is_over_for_good_or_being_stopped_is_left_alone() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", when="false"), step("b")))
        box.drive(run_id)
        with pytest.raises(Conflict, match="the run is succeeded"):
            mark(box.engine, run_id, "a", SUCCEEDED)
        drained = box.start(document(step("runs"), step("bad", function="fail"), failure_mode="drain", name="d"))
        running = box._waiting.popleft()
        box.step()
        box._waiting.append(running)
        mark(box.engine, drained, "runs", SKIPPED)
        assert box.result(drained).status == "failed"


def test_a_draining_run_is_marked_once_it_has_ended(db: Database) -> None:
    hands = Hands(db)
    steps = [step("runs"), step("bad", function="fail"), step("behind", "runs")]
    run_id = hands.start(document(*steps, failure_mode="drain"))
    runs, bad = hands.claim()
    hands.settle(bad)
    with pytest.raises(Conflict, match="being stopped after a failure"):
        mark(hands.engine, run_id, "bad", SUCCEEDED)
    hands.settle(runs)
    assert hands.status(run_id) == "failed"
    assert mark(hands.engine, run_id, "bad", SUCCEEDED) == 1
    hands.work()
    assert hands.status(run_id) == "succeeded"


@pytest.mark.parametrize("output", [float("nan"), {1, 2}, "\x00", "x" * (1 << 21)], ids=["nan", "set", "nul", "large"])
def test_an_output_that_cannot_be_stored_is_refused_and_nothing_changes(output: Any) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a")))
        with pytest.raises(InvalidInput, match="output"):
            mark(box.engine, run_id, "a", SUCCEEDED, output=output)
        assert ends(box, run_id) == {"a": "queued"}
        assert audited(box.connection, "mark") == []


def test_what_cannot_be_marked_is_told() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("charge"), step("b", "charge")))
        with pytest.raises(NotFound, match="no step 'chrage'; did you mean 'charge'"):
            mark(box.engine, run_id, "chrage", SUCCEEDED)
        with pytest.raises(InvalidInput, match="succeeded or skipped, not failed"):
            mark(box.engine, run_id, "charge", StepStatus.FAILED)
        with pytest.raises(InvalidInput, match="a skipped step has none"):
            mark(box.engine, run_id, "charge", SKIPPED, output=1)
        box.step()
        with pytest.raises(Conflict, match="step 'charge' is succeeded already"):
            mark(box.engine, run_id, "charge", SKIPPED)
