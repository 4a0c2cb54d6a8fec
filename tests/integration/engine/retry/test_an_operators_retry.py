"""A failed or canceled run goes on where it stopped."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from orchestrator import testing
from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.retry import retry
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, on, step
from tests.hands import audited
from tests.scripted import FUNCTION, Script


def again(box: Sandbox, run_id: str) -> None:
    retry(box.engine, run_id, reason="the bank is back", actor="ada")
    box.drive(run_id)


def test_what_failed_and_what_depends_on_it_runs_and_nothing_that_succeeded() -> None:
    script = Script({"b": ["failed"]})
    graph = [
        step("a", function=FUNCTION),
        step("b", "a", function=FUNCTION),
        step("c", "b", function=FUNCTION),
        step("d", "a", function=FUNCTION),
        step("e", "c", "d", function=FUNCTION),
    ]
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*graph))
        box.drive(run_id)
        assert box.result(run_id).status == "failed"
        again(box, run_id)
        result = box.result(run_id)
    assert (result.status, result.error) == ("succeeded", None)
    assert Counter(script.ran) == {"a": 1, "b": 2, "c": 1, "d": 1, "e": 1}
    assert {s.status for s in result.steps.values()} == {"succeeded"}


def test_attempts_are_counted_anew_and_their_history_stays() -> None:
    script = Script({"a": ["failed", "failed", "failed"]})
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(step("a", function=FUNCTION, retry={"max_attempts": 2})))
        box.drive(run_id)
        again(box, run_id)
        a = box.result(run_id).steps["a"]
    assert a.status == "succeeded"
    assert [entry["outcome"] for entry in a.history] == ["failed", "failed", "failed", "succeeded"]


def test_a_run_that_was_stopped_goes_on_with_what_was_kept_from_starting() -> None:
    script = Script({"bad": ["failed"]})
    steps = [step("bad", function=FUNCTION, on_error="abort"), step("beside", function=FUNCTION)]
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*steps))
        box.drive(run_id)
        assert box.result(run_id).steps["beside"].status == "canceled"
        again(box, run_id)
        assert box.result(run_id).status == "succeeded"


def test_a_canceled_run_goes_on() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a"), step("b", "a")))
        box.step()
        cancel(box.engine, run_id)
        again(box, run_id)
        result = box.result(run_id)
    assert result.status == "succeeded"
    assert result.steps["a"].attempts == 1


def test_a_run_with_nothing_to_run_again_ends_anew() -> None:
    """All its steps had succeeded: it failed for its output, which reads a variable an operator may have mended."""
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", publish={"n": 0}), output="{{ 1 / vars.n }}", vars={"n": 0}))
        box.drive(run_id)
        assert box.result(run_id).error is not None
        box.connection.exec_driver_sql("""UPDATE workflow_runs SET vars = '{"n": 2}'""")
        again(box, run_id)
        assert (box.result(run_id).status, box.result(run_id).output) == ("succeeded", 0.5)


def test_a_step_skipped_by_the_failure_path_is_decided_anew() -> None:
    script = Script({"a": ["failed"], "undo": ["failed"]})
    graph = [
        step("a", function=FUNCTION),
        step("next", "a", function=FUNCTION),
        step("undo", function=FUNCTION, depends_on=[on("a", "failure")]),
    ]
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*graph))
        box.drive(run_id)
        again(box, run_id)
        ends = {s.name: s.status for s in box.result(run_id).steps.values()}
    assert ends == {"a": "succeeded", "next": "succeeded", "undo": "skipped"}


def test_its_deadline_starts_anew() -> None:
    script = Script({"a": ["failed"]})
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(step("a", function=FUNCTION), timeout=60))
        box.drive(run_id)
        box.pass_time(600)
        retry(box.engine, run_id)
        tick(box.engine)
        box.drive(run_id)
        assert box.result(run_id).status == "succeeded"


def test_handlers_run_again_at_its_next_end() -> None:
    script = Script({"a": ["failed", "failed"]})
    handlers: dict[str, Any] = {name: {"function": FUNCTION} for name in ("on_success", "on_failure", "on_finish")}
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(step("a", function=FUNCTION), **handlers))
        box.drive(run_id)
        again(box, run_id)
        assert box.result(run_id).status == "failed"
        again(box, run_id)
        assert box.result(run_id).status == "succeeded"
    assert Counter(script.ran) == {"a": 3, "on_failure": 2, "on_success": 1, "on_finish": 3}


def test_only_a_run_that_ended_badly_can_be_retried() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a")))
        with pytest.raises(Conflict, match="running"):
            retry(box.engine, run_id)
        box.drive(run_id)
        with pytest.raises(Conflict, match="succeeded"):
            retry(box.engine, run_id)


def test_who_retried_and_why_is_in_the_audit() -> None:
    script = Script({"a": ["failed"]})
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(step("a", function=FUNCTION)))
        box.drive(run_id)
        again(box, run_id)
        assert audited(box.connection, "retry") == [("ada", run_id, "the bank is back")]
