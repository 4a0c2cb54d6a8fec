"""`publish` sets run variables in the completing transaction; the last commit wins."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import testing
from orchestrator.domain.outcome import Outcome
from orchestrator.services.claim import claim
from orchestrator.services.engine import Settings
from orchestrator.services.settle import settle
from orchestrator.store.db import Database
from orchestrator.store.transition import Lease
from tests.documents import FUNCTIONS, document, step
from tests.hands import Hands


def test_a_dependant_sees_what_was_published() -> None:
    result = testing.run(
        document(
            step("a", input={"n": 5}, publish={"n": "{{ result.n * 2 }}", "who": "{{ run.workflow }}"}),
            step("b", "a", input={"n": "{{ vars.n }}", "who": "{{ vars.who }}"}),
            vars={"n": 0, "who": None},
        ),
        None,
        FUNCTIONS,
    )
    assert result.output == {"b": {"n": 10, "who": "w"}}
    assert result.vars == {"n": 10, "who": "w"}


def test_variables_that_nobody_sets_anew_stay() -> None:
    made = document(step("a", publish={"x": 1}), vars={"x": 0, "y": 2})
    assert testing.run(made, None, FUNCTIONS).vars == {"x": 1, "y": 2}


def test_the_last_commit_wins() -> None:
    made = document(step("a", publish={"who": "a"}), step("b", publish={"who": "b"}), vars={"who": None})
    assert testing.run(made, None, FUNCTIONS, pick=lambda waiting: 0).vars == {"who": "b"}
    assert testing.run(made, None, FUNCTIONS, pick=lambda waiting: waiting - 1).vars == {"who": "a"}


def test_variables_of_steps_that_end_at_once_are_all_kept(db: Database) -> None:
    """Each sees the other's by the run row's lock: none is overwritten by an old map."""
    hands = Hands(db)
    steps = [step(f"s{i}", publish={f"v{i}": i}) for i in range(4)]
    run_id = hands.start(document(*steps, step("end", *(s["name"] for s in steps), input={"all": "{{ vars }}"})))
    hands.work()
    assert hands.steps(run_id)["end"]["output"] == {"all": {f"v{i}": i for i in range(4)}}


def test_a_publish_that_cannot_be_rendered_fails_the_step_for_good_and_sets_nothing() -> None:
    broken = step("a", publish={"x": 1, "y": "{{ result.nothing }}"}, retry={"max_attempts": 3})
    result = testing.run(document(broken, step("b", "a"), vars={"x": 0, "y": 0}), None, FUNCTIONS)
    assert result.status == "failed"
    assert (result.steps["a"].status, result.steps["a"].attempts) == ("failed", 1)
    assert result.steps["a"].error is not None
    assert "publish" in result.steps["a"].error["message"]
    assert result.vars == {"x": 0, "y": 0}
    assert result.steps["b"].status == "upstream_failed"


def test_a_failure_publishes_what_publish_on_failure_says_and_nothing_else() -> None:
    failing = step(
        "a",
        function="fail",
        publish={"x": "never"},
        publish_on_failure={"why": "{{ error.message }}"},
        on_error="ignore",
    )
    result = testing.run(document(failing, vars={"x": 0, "why": None}), None, FUNCTIONS)
    assert result.vars == {"x": 0, "why": "no luck"}


def test_a_failure_that_is_tried_again_publishes_nothing() -> None:
    calls: list[int] = []

    def second_time() -> None:
        calls.append(1)
        if len(calls) < 2:
            raise RuntimeError

    made = document(
        step("a", function="f", retry={"max_attempts": 2}, publish_on_failure={"why": "failed"}), vars={"why": None}
    )
    assert testing.run(made, None, {"f": second_time}).vars == {"why": None}


def test_a_pass_step_publishes_too() -> None:
    made = document(
        step("a", **{"pass": True}, input=3, publish={"n": "{{ result }}"}),
        step("b", "a", input={"n": "{{ vars.n }}"}),
        vars={"n": 0},
    )
    assert testing.run(made, None, FUNCTIONS).output == {"b": {"n": 3}}


def test_a_lost_claim_publishes_nothing() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", publish={"n": "{{ result }}"}), vars={"n": 0}))
        message = box._waiting.popleft()
        (claimed,) = claim(box.engine, [message], Lease("w", 15))
        assert not settle(box.engine, claimed, Outcome.succeeded(1, "1")).stale
        assert settle(box.engine, claimed, Outcome.succeeded(2, "2")).stale
        assert box.result(run_id).vars == {"n": 1}


def test_the_variables_of_a_run_are_bounded_together() -> None:
    steps = [step(f"s{i}", *[f"s{i - 1}"][:i], publish={f"v{i}": "{{ 'x' * 40 }}"}) for i in range(3)]
    result = testing.run(document(*steps), None, FUNCTIONS, settings=Settings(max_output_bytes=100))
    assert result.vars.keys() == {"v0", "v1"}
    error = result.steps["s2"].error
    assert error is not None
    assert "publish" in error["message"]
    assert "100 bytes" in error["message"]


WHY = {"why": "{{ error.type }}"}
WITHOUT_AN_ATTEMPT = {
    "its condition": (step("a", when="input.nope", publish_on_failure=WHY), "ExpressionError"),
    "its queue": (step("a", queue="{{ 5 }}", publish_on_failure=WHY), "ExpressionError"),
    "what it passes on": (
        step("a", **{"pass": True}, input="{{ input.nope }}", publish_on_failure=WHY),
        "ExpressionError",
    ),
    "its join": (step("a", "fine", "bad", on_unreachable="fail", publish_on_failure=WHY), "Unreachable"),
}


@pytest.mark.parametrize(("failing", "told"), WITHOUT_AN_ATTEMPT.values(), ids=WITHOUT_AN_ATTEMPT)
def test_a_step_that_fails_without_an_attempt_publishes_too(failing: dict[str, Any], told: str) -> None:
    made = document(step("fine"), step("bad", function="fail", on_error="ignore"), failing)
    result = testing.run(made, None, FUNCTIONS)
    assert result.steps["a"].status == "failed"
    assert result.vars == {"why": told}


def test_a_failure_to_publish_is_told_with_the_error_of_a_step_that_had_no_attempt() -> None:
    failing = step("a", when="input.nope", publish_on_failure={"why": "{{ input.other }}"})
    error = testing.run(document(failing), None, FUNCTIONS).steps["a"].error
    assert error is not None
    assert "input.nope" in error["message"]
    assert "publish_on_failure failed: `{{ input.other }}`" in error["message"]
