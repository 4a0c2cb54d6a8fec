"""Steps that call plain Celery tasks, half by half; real Celery workers are in tests/integration/workers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.domain.celery_task import ERROR, FAILURE, RESULT, STEPS, TASKS, Announced, Answer, read_message
from orchestrator.domain.outcome import Outcome
from orchestrator.errors import OrchestratorError
from orchestrator.services.answer import Taken, announce_tasks, settle_answered, take_answers, understood
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import CeleryCall, Settings
from orchestrator.services.pause import pause, resume
from orchestrator.services.pools import set_pool
from orchestrator.store.db import Database
from orchestrator.store.lease import find_expired
from orchestrator.store.transition import Lease
from tests.documents import document, step
from tests.hands import Hands, together

LEASE = Lease("answers", 30.0)


def calling(name: str = "a", *sources: str, **keys: Any) -> dict[str, Any]:
    return step(name, *sources, function="celery:proj.add", **keys)


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db)


def call(hands: Hands, *steps: dict[str, Any], **keys: Any) -> tuple[str, CeleryCall]:
    """A run whose first task was called."""
    run_id = hands.start(document(*(steps or (calling(),))), **keys)
    hands.work()
    return run_id, hands.outbox.calls[-1]


def answered(hands: Hands, called: CeleryCall, result: Any = None, **told: Any) -> Taken:
    """Take in an answer, settle what is over by it, and do what follows."""
    taken = take_answers(hands.engine, [Answer(called.step_id, called.token, result, **told)], LEASE)
    if taken.done:
        dispatch(hands.engine, settle_answered(hands.engine, taken.done).queues)
    hands.work()
    return taken


def late(hands: Hands, seconds: float) -> None:
    """Let time pass, by moving what the step waits for back, and let the coordinator see it."""
    moved = "{0} = {0} - make_interval(secs => :s)"
    columns = ", ".join(moved.format(c) for c in ("wake_at", "attempt_deadline_at", "started_at"))
    with hands.db.transaction() as conn:
        conn.execute(text(f"UPDATE workflow_run_steps SET {columns} WHERE wake_at IS NOT NULL"), {"s": seconds})
    tick(hands.engine)
    hands.work()


def test_a_task_is_called_with_the_rendered_input_and_its_step_waits_for_the_answer(hands: Hands) -> None:
    run_id, called = call(
        hands, calling(input={"a": "{{ input.n + 1 }}"}, queue="{{ input.q }}"), input={"n": 1, "q": "m"}
    )
    assert (called.name, called.queue, called.kwargs, called.time_limit) == ("proj.add", "m", {"a": 2}, None)
    row = hands.steps(run_id)["a"]
    assert (row["status"], row["input"]) == ("waiting", {"a": 2})
    with hands.db.transaction() as conn:
        left = conn.execute(
            text("SELECT extract(epoch FROM wake_at - orchestrator_now()) FROM workflow_run_steps")
        ).scalar()
        queue = conn.execute(text("SELECT queue FROM workflow_run_steps")).scalar()
        now = conn.execute(text("SELECT orchestrator_now()")).scalar_one()
    assert 3500 < float(left) <= 3600
    assert 3500 < (called.expires - now).total_seconds() <= 3600
    assert queue == STEPS, "the step's queue is the task's, not that of our half"


def test_an_answer_ends_the_step_and_what_follows_starts(hands: Hands) -> None:
    steps = [calling(publish={"sum": "{{ result }}"}), step("b", "a", input={"x": "{{ vars.sum + steps.a.output }}"})]
    run_id, called = call(hands, *steps)
    answered(hands, called, 4)
    assert hands.status(run_id) == "succeeded"
    assert hands.steps(run_id)["b"]["output"] == {"x": 8}
    assert [one["outcome"] for one in hands.steps(run_id)["a"]["history"]] == ["succeeded"]


def test_the_same_answer_twice_and_one_of_another_task_change_nothing(hands: Hands) -> None:
    run_id, called = call(hands)
    assert answered(hands, replace(called, token=called.step_id), 1) == Taken((), frozenset())
    assert len(answered(hands, called, 4).done) == 1
    assert answered(hands, called, 5) == Taken((), frozenset())
    assert hands.steps(run_id)["a"]["output"] == 4


def test_two_answers_in_one_hand_are_one(hands: Hands) -> None:
    run_id, called = call(hands)
    both = [Answer(called.step_id, called.token, n) for n in (1, 2)]
    settle_answered(hands.engine, take_answers(hands.engine, both, LEASE).done)
    assert hands.steps(run_id)["a"]["output"] == 1


def test_an_answer_before_its_step_waits_is_looked_at_again(hands: Hands) -> None:
    run_id = hands.start(document(calling()))
    (claimed,) = hands.claim()
    done = hands.perform(claimed)
    called = hands.outbox.calls[0]
    assert called.token == claimed.token
    assert answered(hands, called, 4) == Taken((), frozenset({called.token}))
    settled = hands.settle_all([done])
    assert not settled[0].stale
    answered(hands, called, 4)
    assert hands.status(run_id) == "succeeded"


def test_a_failure_is_retried_as_the_step_says_and_the_second_task_has_another_id(hands: Hands) -> None:
    run_id, first = call(hands, calling(retry={"max_attempts": 2, "retry_on": "LookupError"}))
    error = {"type": "OutOfStock", "message": "none\0left", "classes": ["OutOfStock", "LookupError", "Exception"]}
    answered(hands, first, error=error)
    second = hands.outbox.calls[-1]
    assert second.token != first.token
    assert answered(hands, first, 1) == Taken((), frozenset())
    answered(hands, second, error=error | {"classes": []})
    row = hands.steps(run_id)["a"]
    assert (row["status"], row["error"]["type"], row["error"]["message"]) == ("failed", "OutOfStock", "none\ufffdleft")
    assert [one["outcome"] for one in row["history"]] == ["failed", "failed"]


def test_an_error_of_unknown_kind_is_not_retried_where_the_kind_decides(hands: Hands) -> None:
    run_id, called = call(hands, calling(retry={"max_attempts": 2, "retry_on": "LookupError"}))
    answered(hands, called, error=read_message(ERROR, [called.token, called.step_id, called.token]).error)  # type: ignore[union-attr]
    assert hands.steps(run_id)["a"]["error"]["type"] == "CeleryTaskFailed"
    assert hands.status(run_id) == "failed"


def test_no_answer_in_time_is_a_timeout_and_a_late_one_changes_nothing(hands: Hands) -> None:
    run_id, called = call(hands, calling(timeout=60, on_error="ignore"))
    assert called.time_limit == 60
    late(hands, 30)
    assert hands.steps(run_id)["a"]["status"] == "waiting"
    late(hands, 31)
    row = hands.steps(run_id)["a"]
    assert (row["status"], row["reason"]) == ("failed", "timeout")
    assert row["error"]["message"] == "no answer of Celery task proj.add on queue celery came within 60 s"
    assert answered(hands, called, 1) == Taken((), frozenset())
    assert hands.steps(run_id)["a"] == row


def test_a_setting_bounds_what_has_no_timeout(db: Database) -> None:
    hands = Hands(db, settings=Settings(celery_timeout=7))
    run_id, _ = call(hands)
    late(hands, 8)
    assert hands.steps(run_id)["a"]["error"]["message"].endswith("within 7 s")


def test_a_result_that_cannot_be_stored_fails_the_step(db: Database) -> None:
    hands = Hands(db, settings=Settings(max_output_bytes=1000))
    for result in ("a\0b", float("nan"), "x" * 1001, {"at": timedelta(1)}):
        run_id, called = call(hands, calling(retry={"max_attempts": 3}))
        answered(hands, called, result)
        row = hands.steps(run_id)["a"]
        assert (row["status"], row["error"]["type"], len(row["history"])) == ("failed", "UnstorableValue", 1)


def test_secrets_that_a_task_echoes_are_masked(db: Database) -> None:
    hands = Hands(db)
    hands.engine = replace(hands.engine, secrets={"key": "s3cr3t-key"})
    run_id, called = call(hands, calling(input={"key": "{{ secrets.key }}"}))
    assert (called.kwargs, called.shown) == ({"key": "s3cr3t-key"}, '{"key":"***"}')
    answered(hands, called, {"said": "it is s3cr3t-key"})
    row = hands.steps(run_id)["a"]
    assert (row["input"], row["output"]) == ({"key": "***"}, {"said": "it is ***"})


def test_an_input_that_cannot_be_rendered_calls_nothing(hands: Hands) -> None:
    for keys in (
        {"input": {"a": "{{ input.missing }}"}},
        {"input": "{{ [1] }}"},
        {"queue": "{{ '' }}"},
        {"timeout": "{{ -1 }}"},
    ):
        run_id = hands.start(document(calling(**keys)))
        hands.work()
        assert hands.steps(run_id)["a"]["error"]["type"] == "ExpressionError"
    assert hands.outbox.calls == []


def test_a_canceled_run_ends_at_once_and_its_task_is_revoked(hands: Hands) -> None:
    run_id, called = call(hands)
    cancel(hands.engine, run_id)
    assert hands.status(run_id) == "canceled"
    assert hands.outbox.calls == [], "revoked"
    assert answered(hands, called, 1) == Taken((), frozenset())


def test_an_answer_while_the_run_is_paused_ends_the_step_and_nothing_new_starts(hands: Hands) -> None:
    run_id, called = call(hands, calling(), step("b", "a"))
    pause(hands.engine, run_id)
    answered(hands, called, 1)
    assert [hands.steps(run_id)[name]["status"] for name in "ab"] == ["succeeded", "ready"]
    resume(hands.engine, run_id)
    hands.work()
    assert hands.status(run_id) == "succeeded"


def test_a_worker_that_dies_with_an_answer_in_its_hands_leaves_the_step_waiting(hands: Hands) -> None:
    run_id, called = call(hands)
    take_answers(hands.engine, [Answer(called.step_id, called.token, 4)], Lease("dies", 0.0))
    with hands.db.transaction() as conn:
        assert len(find_expired(conn, 0.0, 10)) == 1
    assert answered(hands, called, 4).early == {called.token}, "kept while its step is in a worker's hands"
    tick(hands.engine)
    hands.work()
    assert hands.steps(run_id)["a"]["status"] == "waiting"
    assert len(hands.outbox.calls) == 1, "it is not called again"
    answered(hands, called, 4)
    assert hands.status(run_id) == "succeeded"


def test_an_attempt_that_was_lost_before_it_waited_calls_once_more_and_the_first_answer_is_dropped(
    hands: Hands,
) -> None:
    run_id = hands.start(document(calling()))
    (claimed,) = hands.claim()
    hands.perform(claimed)
    hands.settle(claimed, Outcome.lost("test"))
    hands.work()
    first, second = hands.outbox.calls
    assert answered(hands, first, 1) == Taken((), frozenset())
    answered(hands, second, 2)
    assert hands.steps(run_id)["a"]["output"] == 2


def test_of_an_answer_and_a_timeout_at_the_same_moment_one_wins(hands: Hands) -> None:
    for _ in range(15):
        run_id, called = call(hands, calling(timeout=60))
        with hands.db.transaction() as conn:
            conn.execute(
                text("UPDATE workflow_run_steps SET wake_at = now() - interval '1 s' WHERE wake_at IS NOT NULL")
            )
        together([partial(answered, hands, called, 1), partial(tick, hands.engine)])
        tick(hands.engine)  # a woken step that was locked as it was to be sent is left to the next tick
        hands.work()
        answered(hands, called, 1)  # its message came again: a woken half goes on waiting for it
        assert hands.status(run_id) == "succeeded"
        assert len(hands.steps(run_id)["a"]["history"]) == 1


def test_announced_tasks_are_functions_and_their_queue_is_used(hands: Hands) -> None:
    tasks = [{"name": "proj.add", "queue": "media", "description": "Adds."}, {"name": "proj.x", "queue": None}]
    read = understood(TASKS, [tasks])
    assert isinstance(read, Announced)
    announce_tasks(hands.db, [read])
    with hands.db.transaction() as conn:
        rows = conn.execute(text("SELECT name, queue, description FROM functions ORDER BY name")).all()
    assert [tuple(row) for row in rows] == [("celery:proj.add", "media", "Adds."), ("celery:proj.x", None, None)]
    assert call(hands)[1].queue == "media"


@pytest.mark.parametrize(
    ("name", "args"),
    [
        (RESULT, []),
        (RESULT, [1, "x", "y"]),
        (RESULT, [1, 2, 3]),
        (FAILURE, ["text", "0" * 8, "0" * 8]),
        (TASKS, ["x"]),
        (TASKS, [[{"queue": "q"}]]),
        ("other", [1, "x", "y"]),
    ],
)
def test_what_is_no_answer_is_refused(name: str, args: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        understood(name, args)


def test_a_function_of_that_name_is_called_instead_in_a_test() -> None:
    result = testing.run(document(calling(input={"a": 1})), functions={"celery:proj.add": lambda a: a + 1})
    assert (result.status, result.output) == ("succeeded", {"a": 2})
    with pytest.raises(OrchestratorError, match="no Celery worker runs in a test: give functions="):
        testing.run(document(calling()))


def test_a_tasks_result_may_be_used_again(hands: Hands) -> None:
    steps = [calling(input={"a": 1}, cache={"ttl": 60})]
    _, called = call(hands, *steps)
    answered(hands, called, 4)
    run_id = hands.start(document(*steps))
    hands.work()
    row = hands.steps(run_id)["a"]
    assert (row["status"], row["reason"], row["output"], row["input"]) == ("succeeded", "cached", 4, {"a": 1})
    assert len(hands.outbox.calls) == 1


def test_a_task_holds_its_pools_slots_until_it_has_answered(hands: Hands) -> None:
    set_pool(hands.engine, "gpu", 1, actor="test")
    keys = {"pool": "gpu", "slots": 1}
    run_id, called = call(hands, calling("a", **keys), calling("b", **keys))
    tick(hands.engine)
    hands.work()
    assert sorted(step["status"] for step in hands.steps(run_id).values()) == ["ready", "waiting"]
    answered(hands, called, 1)
    assert len(hands.outbox.calls) == 2
    answered(hands, hands.outbox.calls[1], 2)
    assert hands.status(run_id) == "succeeded"


def test_handlers_may_be_tasks_too(hands: Hands) -> None:
    run_id = hands.start(
        document(step("a"), on_finish={"function": "celery:proj.note", "input": {"s": "{{ run.status }}"}})
    )
    hands.work()
    (called,) = hands.outbox.calls
    assert called.kwargs == {"s": "succeeded"}
    answered(hands, called)
    assert hands.status(run_id) == "succeeded"


def test_each_item_is_a_task_of_its_own_and_their_results_become_the_list(hands: Hands) -> None:
    each = calling(with_items={"items": [1, 2], "max_failures": 1}, input={"x": "{{ item }}", "i": "{{ index }}"})
    run_id, _ = call(hands, each)
    first, second = sorted(hands.outbox.calls, key=lambda called: called.kwargs["i"])
    assert (first.kwargs, second.kwargs) == ({"x": 1, "i": 0}, {"x": 2, "i": 1})
    answered(hands, second, 20)
    assert hands.status(run_id) == "running"
    answered(hands, first, 10)
    assert (hands.status(run_id), hands.steps(run_id)["a"]["output"]) == ("succeeded", [10, 20])
