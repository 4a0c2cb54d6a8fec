"""The decisions of docs/silent.md."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from orchestrator import Skip, testing
from orchestrator.domain.celery_task import Answer
from orchestrator.domain.limits import LIMITS
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.pack import make_pack
from orchestrator.errors import AttemptCanceled, InvalidInput, InvalidPack
from orchestrator.functions import make_spec
from orchestrator.services.answer import settle_answered, take_answers
from orchestrator.services.apps import set_app
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import claim
from orchestrator.services.coordinate import tick
from orchestrator.services.packs import Act, install_pack
from orchestrator.services.pause import pause
from orchestrator.services.perform import perform
from orchestrator.services.register import register
from orchestrator.services.retry import retry
from orchestrator.services.settle import settle
from orchestrator.services.start_plain import StartOptions
from orchestrator.services.unregister import unregister
from orchestrator.store.db import Database
from orchestrator.store.transition import Lease
from orchestrator.store.workflows import get_revision
from tests.hands import Hands, Unheard


def boom(**_: Any) -> None:
    raise ValueError("boom")


def canceled() -> None:
    raise AttemptCanceled("by nobody")


def ctrl_c() -> None:
    raise KeyboardInterrupt


def skip() -> None:
    raise Skip("nothing to do")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "boom": boom,
    "canceled": canceled,
    "ctrl_c": ctrl_c,
    "ok": lambda **_: 1,
    "skip": skip,
    "slow": lambda: testing.sleep(10),
}


def run(*steps: dict[str, Any], given: Any = None, **document: Any) -> testing.RunResult:
    return testing.run({"name": "silent", "steps": list(steps), **document}, given, functions=FUNCTIONS)


def test_a_pass_step_gives_its_input_and_has_no_attempt() -> None:
    step = run({"name": "a", "pass": True, "input": {"x": "{{ 1 + 1 }}"}}).steps["a"]
    assert (step.status, step.output, step.attempts, step.started_at) == ("succeeded", {"x": 2}, 0, None)


def test_skip_raised_by_a_function_skips_what_follows_like_a_false_condition() -> None:
    steps = run({"name": "a", "function": "skip"}, {"name": "b", "function": "ok", "depends_on": "a"}).steps
    assert (steps["a"].status, steps["a"].reason) == ("skipped", "function")
    assert steps["b"].status == "skipped"


def test_a_function_that_ends_as_canceled_although_nobody_asked_has_failed_and_is_tried_again() -> None:
    result = run({"name": "a", "function": "canceled", "retry": {"max_attempts": 2, "delay": 1}})
    step = result.steps["a"]
    assert (result.status, step.status, step.reason, step.attempts) == ("failed", "failed", "error", 2)
    assert [attempt["outcome"] for attempt in step.history] == ["failed", "failed"]


def test_ctrl_c_in_a_function_goes_through_testing_and_is_a_failure_in_a_worker() -> None:
    document = {"name": "silent", "steps": [{"name": "a", "function": "ctrl_c"}]}
    with pytest.raises(KeyboardInterrupt):
        testing.run(document, functions=FUNCTIONS)
    with testing.sandbox(FUNCTIONS) as box:
        box.start(document)
        (claimed,) = claim(box.engine, [box._waiting.popleft()], Lease("worker", 60))
        outcome = perform(box.engine, claimed, Unheard(), logging.getLogger(), ctrl_c=False).outcome
    assert (outcome.kind, outcome.error and outcome.error.type) == ("failed", "KeyboardInterrupt")


def test_continue_is_a_success_for_rules_and_a_failure_for_failure_edges() -> None:
    steps = run(
        {"name": "a", "function": "boom", "on_error": "continue"},
        {"name": "rule", "function": "ok", "depends_on": "a", "trigger_rule": "all_failed"},
        {"name": "edge", "function": "ok", "depends_on": [{"step": "a", "on": "failure"}]},
    ).steps
    assert (steps["rule"].status, steps["edge"].status) == ("skipped", "succeeded")


def test_a_fault_in_publish_fails_the_step_for_good() -> None:
    step = run({"name": "a", "function": "ok", "publish": {"x": "{{ result.y }}"}, "retry": {"max_attempts": 3}}).steps[
        "a"
    ]
    assert (step.status, step.attempts) == ("failed", 1)


def test_a_fault_in_publish_on_failure_is_added_to_the_error() -> None:
    step = run({"name": "a", "function": "boom", "publish_on_failure": {"x": "{{ input.y }}"}}).steps["a"]
    assert step.error is not None
    assert step.error["type"] == "ValueError"
    assert "publish_on_failure" in step.error["message"]


@pytest.mark.parametrize("step", [{"function": "ok", "input": "{{ input.n }}"}, {"function": "nobody"}])
def test_what_trying_again_would_not_help_is_not_tried_again(step: dict[str, Any]) -> None:
    result = run({"name": "a", "retry": {"max_attempts": 3}, **step}, given={"n": 3})
    assert result.steps["a"].attempts == 1


def test_started_at_is_that_of_the_latest_attempt() -> None:
    step = run({"name": "a", "function": "boom", "retry": {"max_attempts": 2, "delay": 60}}).steps["a"]
    assert step.started_at is not None
    assert step.finished_at is not None
    assert step.finished_at - step.started_at < timedelta(seconds=60)


def test_total_timeout_counts_from_the_first_attempt() -> None:
    retry_often = {"max_attempts": 9, "delay": 3}
    step = run({"name": "a", "function": "boom", "total_timeout": 5, "retry": retry_often}).steps["a"]
    assert (step.reason, step.attempts) == ("total_timeout", 2)


def test_without_output_the_last_steps_are_the_output_null_where_they_did_not_succeed() -> None:
    result = run(
        {"name": "a", "function": "ok"},
        {"name": "b", "function": "ok", "depends_on": "a"},
        {"name": "c", "function": "boom", "on_error": "ignore"},
        {"name": "d", "function": "skip"},
    )
    assert result.output == {"b": 1, "c": None, "d": None}


def test_a_run_has_the_error_of_the_first_failure_that_nothing_handled() -> None:
    result = run(
        {"name": "a", "function": "boom", "on_error": "ignore"},
        {"name": "b", "function": "boom"},
        {"name": "c", "function": "boom"},
    )
    assert result.error == {"type": "ValueError", "message": "boom", "step": "b"}


@pytest.mark.parametrize("wrong", [{"output": "{{ input.x }}"}, {"output_schema": {"required": ["x"]}}])
def test_an_output_that_cannot_be_made_or_is_refused_fails_the_run(wrong: dict[str, Any]) -> None:
    result = run({"name": "a", "function": "ok"}, **wrong)
    assert (result.status, result.steps["a"].status) == ("failed", "succeeded")


def test_a_variable_that_cannot_be_made_refuses_the_start() -> None:
    with pytest.raises(InvalidInput, match="vars.x"):
        run({"name": "a", "function": "ok"}, vars={"x": "{{ input.y }}"})


def test_an_idempotency_key_gives_the_first_run_whatever_the_input() -> None:
    document = {"name": "silent", "steps": [{"name": "a", "pass": True}]}
    with testing.sandbox() as box:
        first = box.start(document, {"n": 1}, StartOptions(idempotency_key="k"))
        assert box.start(document, {"n": 2}, StartOptions(idempotency_key="k")) == first


def test_drain_gives_up_a_waiting_retry_and_keeps_its_error() -> None:
    step = run(
        {"name": "later", "function": "boom", "retry": {"max_attempts": 2, "delay": 60}},
        {"name": "now", "function": "boom"},
        failure_mode="drain",
    ).steps["later"]
    assert (step.status, step.reason) == ("canceled", "drain")
    assert step.error is not None
    assert step.error["type"] == "ValueError"


def test_while_a_run_is_canceling_a_failed_attempt_is_not_repeated_and_keeps_its_error() -> None:
    def cancel_and_fail(ctx: Any) -> None:
        cancel(box.engine, ctx.run_id)
        raise ValueError("too late")

    steps = [{"name": "a", "function": "act", "retry": {"max_attempts": 3}}]
    with testing.sandbox(functions={"act": cancel_and_fail}) as box:
        run_id = box.start({"name": "silent", "steps": steps})
        box.drive(run_id)
        result = box.result(run_id)
    step = result.steps["a"]
    assert (result.status, step.status, step.attempts) == ("canceled", "failed", 1)
    assert step.error is not None
    assert step.error["message"] == "too late"


def test_on_finish_runs_last_reads_the_other_handler_and_sees_what_the_run_will_be() -> None:
    result = run(
        {"name": "a", "function": "boom"},
        on_failure={"pass": True, "input": "{{ run.status }} at {{ run.error.step }}"},
        on_finish={"pass": True, "input": "{{ steps.on_failure.output }}"},
    )
    assert result.steps["on_finish"].output == "failed at a"
    assert "on_success" not in result.steps


def test_an_operators_retry_keeps_what_succeeded_and_runs_the_handlers_again() -> None:
    calls: list[str] = []

    def mend() -> int:
        calls.append("b")
        if calls.count("b") == 1:
            raise ValueError("boom")
        return 2

    functions = {"first": lambda: calls.append("a"), "mend": mend, "tell": lambda: calls.append("finish")}
    steps = [{"name": "a", "function": "first"}, {"name": "b", "function": "mend", "depends_on": "a"}]
    with testing.sandbox(functions=functions) as box:
        run_id = box.start({"name": "silent", "steps": steps, "on_finish": {"function": "tell"}})
        box.drive(run_id)
        retry(box.engine, run_id)
        box.drive(run_id)
        assert box.result(run_id).status == "succeeded"
    assert calls == ["a", "b", "finish", "b", "finish"]


def test_a_canceling_run_past_its_deadline_is_cut_off_and_ends_as_canceled() -> None:
    with testing.sandbox(functions=FUNCTIONS) as box:
        run_id = box.start({"name": "silent", "timeout": 60, "steps": [{"name": "a", "function": "ok"}]})
        (claimed,) = claim(box.engine, [box._waiting.popleft()], Lease("worker", 3600))
        cancel(box.engine, run_id)
        box.clock.skip(timedelta(seconds=61))
        tick(box.engine)
        result = box.result(run_id)
        assert settle(box.engine, claimed, Outcome.succeeded(1, "1")).stale
    assert (result.status, result.error) == ("canceled", None)
    assert (result.steps["a"].status, result.steps["a"].reason) == ("canceled", "deadline")


@pytest.mark.parametrize("top", [{}, {"default": {"a": 2}}])
def test_without_input_or_with_null_it_is_an_empty_map_with_defaults(top: dict[str, Any]) -> None:
    schema = top | {"properties": {"a": {"default": 1}}}
    echo = {"name": "a", "pass": True, "input": "{{ input }}"}
    assert run(echo, input_schema=schema).output == {"a": {"a": 1}}
    assert run(echo, given={}, input_schema=schema).output == {"a": {"a": 1}}


def test_nothing_is_filled_into_an_output() -> None:
    schema = {"properties": {"x": {"default": 1}}}
    result = run({"name": "a", "function": "ok"}, output={}, output_schema=schema)
    assert (result.status, result.output) == ("succeeded", {})


def test_nothing_is_filled_into_what_a_function_with_a_schema_of_its_own_is_called_with() -> None:
    got: list[dict[str, Any]] = []

    def take(**given: Any) -> None:
        got.append(given)

    with testing.sandbox() as box:
        schema = {"properties": {"x": {"default": 1}, "n": {"type": "integer"}}}
        box.engine.functions.put(make_spec(take, "take", input_schema=schema))
        steps = [{"name": "a", "function": "take", "input": {"n": 1}}]
        steps += [{"name": "b", "function": "take", "input": {"n": "one"}}]
        run_id = box.start({"name": "silent", "steps": steps})
        box.drive(run_id)
        assert [step.status for step in box.result(run_id).steps.values()] == ["succeeded", "failed"]
    assert got == [{"n": 1}]


def test_a_property_that_is_null_is_there() -> None:
    schema = {"required": ["a"], "properties": {"a": {"default": 1}, "b": {"type": "string"}}}
    result = run({"name": "a", "pass": True, "input": "{{ input }}"}, given={"a": None}, input_schema=schema)
    assert result.output == {"a": {"a": None}}
    with pytest.raises(InvalidInput, match="input.b: must be text, not null"):
        run({"name": "a", "function": "ok"}, given={"a": 1, "b": None}, input_schema=schema)


def test_a_steps_null_leaves_out_what_defaults_say_and_a_null_output_is_one() -> None:
    again = {"retry": {"max_attempts": 2}}
    result = run(
        {"name": "a", "function": "boom"},
        {"name": "b", "function": "boom", "retry": None},
        {"name": "c", "pass": None},
        defaults=again | {"on_error": "ignore"},
        output=None,
    )
    assert [result.steps[name].attempts for name in "abc"] == [2, 1, 0]
    assert (result.status, result.output) == ("succeeded", None)


def test_only_four_formats_are_checked() -> None:
    checked = {"date": "x", "date-time": "x", "email": "x", "uuid": "x"}
    others = {"time": "x", "uri": "no uri", "ipv4": "x", "hostname": "-", "regex": "(", "made-up": "x"}
    schema = {"properties": {name: {"format": name} for name in checked | others}}
    with pytest.raises(InvalidInput) as caught:
        run({"name": "a", "function": "ok"}, given=checked | others, input_schema=schema)
    assert {problem.path for problem in caught.value.problems} == {
        "input.date",
        "input.date-time",
        "input.email",
        "input.uuid",
    }
    assert run({"name": "a", "function": "ok"}, given=others, input_schema=schema).status == "succeeded"


def test_the_result_that_retry_while_may_read_is_null() -> None:
    again = {"max_attempts": 3, "while": "result is none and attempt < 2"}
    assert run({"name": "a", "function": "boom", "retry": again}).steps["a"].attempts == 2


def test_a_deleted_workflow_that_is_registered_again_goes_on_with_its_revisions() -> None:
    one, two = ({"name": "w", "steps": [{"name": name, "pass": True}]} for name in "ab")
    with testing.sandbox() as box:
        register(box.engine, one)
        unregister(box.engine, "w")
        assert (register(box.engine, two).revision, register(box.engine, one).revision) == (2, 3)


def test_deleting_an_apps_own_workflow_shows_its_groups_again() -> None:
    with testing.sandbox() as box:
        set_app(box.engine.db, "shop", group="europe")
        of_group = register(box.engine, {"name": "w", "steps": [{"name": "a", "pass": True}]}, group="europe")
        register(box.engine, {"name": "w", "steps": [{"name": "b", "pass": True}]}, app="shop")
        unregister(box.engine, "w", app="shop")
        assert get_revision(box.connection, "shop", "w").id == of_group.revision_id


def test_a_pack_takes_over_no_workflow_that_was_there_forced_or_not() -> None:
    files = {"workflows/w.yaml": {"name": "w", "steps": [{"name": "a", "pass": True}]}}
    with testing.sandbox() as box:
        register(box.engine, files["workflows/w.yaml"])
        for force in (False, True):
            with pytest.raises(InvalidPack, match="'default' has a workflow 'w' already, which is of no pack"):
                install_pack(box.engine, make_pack({"name": "p"}, files, LIMITS), Act(force=force))


def test_an_answer_of_a_celery_task_ends_its_step_while_the_run_is_paused(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start({"name": "w", "steps": [{"name": "a", "function": "celery:proj.add"}]})
    hands.work()
    (called,) = hands.outbox.calls
    pause(hands.engine, run_id)
    taken = take_answers(hands.engine, [Answer(called.step_id, called.token, 4)], Lease("answers", 30.0))
    settle_answered(hands.engine, taken.done)
    assert (hands.status(run_id), hands.steps(run_id)["a"]["output"]) == ("paused", 4)
