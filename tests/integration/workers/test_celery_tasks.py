"""Plain Celery tasks as steps, on real workers of another project that has nothing of ours (docs/celery.md)."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import states

from orchestrator.domain.celery_task import ANSWERS, FAILURE
from orchestrator.services.cancel import cancel
from tests.integration.workers.fleet import Fleet, Process
from tests.support import wait_for
from workers.results import Results


def calling(task: str, name: str = "a", **keys: Any) -> dict[str, Any]:
    return {"name": name, "function": f"celery:proj.tasks.{task}", **keys}


@pytest.fixture
def ours(fleet: Fleet) -> Fleet:
    """A worker and a beat of ours, to which the other project's are added."""
    fleet.worker()
    fleet.beat()
    return fleet


def notes(fleet: Fleet) -> list[str]:
    """What the other project's tasks wrote down."""
    return Path(fleet.journal).read_text().splitlines()


def noted(fleet: Fleet, line: str, count: int = 1) -> None:
    wait_for(lambda: sum(note.startswith(line) for note in notes(fleet)) >= count, what=f"{count} x {line}")


def waits(fleet: Fleet, run_id: str, name: str = "a") -> None:
    wait_for(lambda: fleet.step(run_id, name)["status"] == "waiting", what=f"{name} waits")


def failure(fleet: Fleet, run_id: str, name: str = "a") -> tuple[str, str]:
    error = fleet.step(run_id, name)["error"]
    return error["type"], error["message"]


def test_a_task_of_a_worker_without_the_package_gives_its_result(ours: Fleet) -> None:
    ours.plain()
    steps = [
        calling("add", input={"a": "{{ input.a }}", "b": 2}, publish={"sum": "{{ result }}"}),
        calling("add", "b", input={"a": "{{ steps.a.output }}", "b": "{{ vars.sum }}"}, depends_on=["a"]),
        calling("alone", "c"),
        calling("replaced", "d", input={"a": 2}),
        calling("give", "e", input={"what": "none"}),
    ]
    run_id = ours.start(
        steps, {"a": 1}, output="{{ [steps.b.output, steps.c.output, steps.d.output, steps.e.output] }}"
    )
    run = ours.ended(run_id)
    assert (run["status"], run["output"]) == ("succeeded", [6, True, 42, None])
    assert ours.step(run_id, "a")["input"] == {"a": 1, "b": 2}
    assert ours.tried(run_id, "a") == ["succeeded"]


def test_items_call_the_task_each_and_their_results_come_back_in_order(ours: Fleet) -> None:
    ours.plain()
    steps = [
        calling("add", with_items={"items": "{{ range(20) | list }}", "concurrency": 6}, input={"a": "{{ item }}"})
    ]
    run_id = ours.start(steps)
    assert ours.ended(run_id)["output"] == {"a": list(range(1, 21))}


def test_a_worker_whose_queues_are_named_serves_the_steps_that_call_tasks_too(fleet: Fleet) -> None:
    fleet.worker(options=["-Q", "far"])
    fleet.beat()
    fleet.plain()
    assert fleet.ended(fleet.start([calling("add", input={"a": 1})]))["output"] == {"a": 2}
    (row,) = fleet.rows("SELECT queues FROM workers WHERE kind = 'worker'")
    assert row.queues == ["far"], "which is nothing to choose, and is not told"


def test_a_worker_that_keeps_no_results_says_that_a_task_failed_and_not_why(ours: Fleet) -> None:
    ours.plain()
    run_id = ours.start([calling("fail", retry={"max_attempts": 2})])
    assert ours.ended(run_id)["status"] == "failed"
    assert failure(ours, run_id)[0] == "CeleryTaskFailed"
    assert ours.tried(run_id, "a") == ["failed", "failed"]


def test_a_result_backend_on_the_broker_says_why_a_task_failed(ours: Fleet) -> None:
    ours.plain(PROJ_BACKEND=ours.broker_url)
    run_id = ours.start([calling("fail"), calling("fail_oddly", "b"), calling("add", "c", input={"a": "x", "b": 1})])
    assert ours.ended(run_id)["status"] == "failed"
    assert failure(ours, run_id) == ("OutOfStock", "sold out")
    assert failure(ours, run_id, "b")[0] == "Unpicklable"
    assert failure(ours, run_id, "c") == ("TypeError", 'can only concatenate str (not "int") to str')
    assert "in fail\n" in ours.step(run_id, "a")["error"]["traceback"]


def test_a_result_backend_elsewhere_is_named_by_a_setting(fleet: Fleet) -> None:
    elsewhere = fleet.broker_url.rsplit("/", 1)[0] + "/0"
    fleet.worker(CELERY_RESULT_BACKEND=elsewhere)
    fleet.beat()
    fleet.plain(PROJ_BACKEND=elsewhere)
    run_id = fleet.start([calling("fail")])
    assert fleet.ended(run_id)["status"] == "failed"
    assert failure(fleet, run_id) == ("OutOfStock", "sold out")


def test_a_result_backend_that_stands_still_for_a_moment_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that is away only once for each answer, as others wait for theirs."""
    results = Results("cache+memory://")
    assert results._app is not None
    backend = results._app.backend
    backend.store_result("failed", LookupError("sold out"), states.FAILURE)
    real, silent = backend.get_task_meta, list[Exception]()
    asked: list[str] = []

    def get_task_meta(task_id: str) -> Any:
        asked.append(task_id)
        if silent:
            raise silent.pop()
        return real(task_id)

    monkeypatch.setattr(backend, "get_task_meta", get_task_meta)
    for times, told, tries in ((2, "sold out", 3), (9, None, 3), (9, None, 1), (0, "sold out", 1), (1, "sold out", 2)):
        silent[:] = [TimeoutError()] * times
        asked.clear()
        error = results.error_of("failed")
        assert (error and error["message"], len(asked)) == (told, tries)


def test_an_installed_worker_says_why_a_task_failed_and_what_tasks_it_has(ours: Fleet) -> None:
    ours.plain("celery", "media", PROJ_INSTALL="1")
    run_id = ours.start(
        [
            calling("fail", retry={"max_attempts": 5, "retry_on": "LookupError", "abort_on": "OSError"}),
            calling("fail_oddly", "b", retry={"max_attempts": 5, "abort_on": "Unpicklable"}),
            calling("add", "c", input={"wrong": 1}),
        ]
    )
    assert ours.ended(run_id)["status"] == "failed"
    assert failure(ours, run_id) == ("OutOfStock", "sold out")
    assert len(ours.tried(run_id, "a")) == 5, "its base classes are known"
    assert "in fail\n" in ours.step(run_id, "a")["error"]["traceback"]
    assert failure(ours, run_id, "b")[0] == "Unpicklable"
    assert len(ours.tried(run_id, "b")) == 1
    assert failure(ours, run_id, "c")[0] == "TypeError"
    (row,) = ours.rows("SELECT queue, description FROM functions WHERE name = 'celery:proj.tasks.add'")
    assert (row.queue, row.description) == ("celery", "Adds.")
    routed = ours.start([calling("routed")], output="{{ steps.a.output }}")
    assert ours.ended(routed)["output"] == "from media", "the queue is that of the project's own routes"


def test_the_queue_of_a_step_is_where_its_task_is_sent(ours: Fleet) -> None:
    ours.plain("media")
    run_id = ours.start([calling("add", input={"a": 1}, queue="{{ input.where }}")], {"where": "media"})
    assert ours.ended(run_id)["output"] == {"a": 2}


def test_a_task_that_tries_again_by_itself_answers_once_at_its_end(ours: Fleet) -> None:
    ours.plain()
    steps = [calling("flaky", input={"journal": ours.journal, "good": 2})]
    run_id = ours.start(steps)
    assert ours.ended(run_id)["output"] == {"a": 2}
    assert ours.tried(run_id, "a") == ["succeeded"]
    assert notes(ours) == ["try 0", "try 1", "try 2"]
    never = ours.start([calling("flaky", input={"journal": ours.journal, "good": 9})])
    assert ours.ended(never)["status"] == "failed"
    assert ours.tried(never, "a") == ["failed"]


@pytest.mark.parametrize("what", ["set", "nan", "nul", "object", "time", "large"])
def test_a_result_that_cannot_be_stored_is_a_failure(ours: Fleet, what: str) -> None:
    ours.plain(PROJ_INSTALL="1")
    run_id = ours.start([calling("give", input={"what": what})])
    assert ours.ended(run_id)["status"] == "failed"
    kind, message = failure(ours, run_id)
    assert kind in ("UnstorableValue", "EncodeError", "TypeError"), (kind, message)


def times_out(fleet: Fleet, run_id: str) -> None:
    """Let the time of its step be over now, and not before its task has begun."""
    noted(fleet, "begun")
    waits(fleet, run_id)
    over = "UPDATE workflow_run_steps SET wake_at = now(), attempt_deadline_at = now()"
    fleet.rows(f"{over} WHERE run_id = :id AND name = 'a' RETURNING id", id=run_id)


def test_a_task_that_takes_too_long_times_out_and_its_late_result_changes_nothing(ours: Fleet) -> None:
    plain = ours.plain(pool="threads")
    asked = {"journal": ours.journal, "flag": ours.flag("go")}
    run_id = ours.start(
        [calling("wait", input=asked, timeout=60, on_error="continue"), calling("add", "b", input={"a": 1})]
    )
    times_out(ours, run_id)
    run = ours.ended(run_id)
    assert (run["status"], ours.tried(run_id, "a")) == ("succeeded", ["timed_out"])
    kind, message = failure(ours, run_id)
    assert (kind, message) == ("Timeout", "no answer of Celery task proj.tasks.wait on queue celery came within 60 s")
    before = ours.rows("SELECT to_json(s)::text FROM workflow_run_steps s ORDER BY position")
    ours.raise_flag("go")
    answered(ours, plain)
    assert ours.rows("SELECT to_json(s)::text FROM workflow_run_steps s ORDER BY position") == before


def answered(fleet: Fleet, plain: Process) -> None:
    """Every task that has begun has answered (its worker says that it succeeded after that), and every answer has been
    taken in: none waits in the broker, and none is with a worker."""
    begun = sum(note.startswith("begun") for note in notes(fleet))
    wait_for(lambda: plain.said().count(" succeeded in ") >= begun, what=f"{begun} tasks have answered")
    with redis.Redis.from_url(fleet.broker_url) as client:
        wait_for(lambda: not client.llen(ANSWERS) and not client.hlen("unacked"), what="all answers are taken in")


def test_a_late_result_of_the_first_attempt_is_not_that_of_the_second(ours: Fleet) -> None:
    plain = ours.plain(pool="threads", concurrency=20)
    asked = {"journal": ours.journal, "flag": ours.flag("go")}
    run_id = ours.start([calling("wait", input=asked, timeout=2, retry={"max_attempts": 50})])
    noted(ours, "begun", 2)
    ours.raise_flag("go")
    assert ours.ended(run_id)["status"] == "succeeded"
    tried = ours.tried(run_id, "a")
    assert (tried[0], tried.count("succeeded"), tried[-1]) == ("timed_out", 1, "succeeded")
    before = ours.rows("SELECT to_json(s)::text FROM workflow_run_steps s")
    answered(ours, plain)
    assert (ours.tried(run_id, "a"), ours.rows("SELECT to_json(s)::text FROM workflow_run_steps s")) == (tried, before)


def test_a_process_that_dies_under_a_task_is_a_failure_and_a_worker_that_dies_a_timeout(ours: Fleet) -> None:
    plain = ours.plain(PROJ_BACKEND=ours.broker_url)
    run_id = ours.start([calling("die")])
    assert ours.ended(run_id)["status"] == "failed"
    assert failure(ours, run_id)[0] == "WorkerLostError"
    asked = {"journal": ours.journal, "flag": ours.flag("never")}
    lost = ours.start([calling("wait", input=asked, timeout=60)])
    noted(ours, "begun")
    plain.kill()
    times_out(ours, lost)
    assert ours.ended(lost)["status"] == "failed"
    assert ours.tried(lost, "a") == ["timed_out"]


def test_a_message_that_is_lost_is_sent_again_after_the_timeout(ours: Fleet) -> None:
    run_id = ours.start([calling("add", input={"a": 1}, timeout=2, retry={"max_attempts": 50})])
    waits(ours, run_id)
    with redis.Redis.from_url(ours.broker_url) as client:
        assert client.delete("celery") == 1
    wait_for(lambda: ours.tried(run_id, "a")[:1] == ["timed_out"], what="the first attempt timed out")
    ours.plain()
    assert ours.ended(run_id)["output"] == {"a": 2}


def test_a_message_whose_time_is_over_is_not_begun_with(ours: Fleet) -> None:
    asked = {"journal": ours.journal, "flag": ours.flag("never")}
    run_id = ours.start([calling("wait", input=asked, timeout=1)])
    assert ours.ended(run_id)["status"] == "failed"
    plain = ours.plain()
    wait_for(lambda: "revoked" in plain.said(), what="the message is discarded")
    assert notes(ours) == []


def test_a_step_whose_answer_waits_holds_no_worker(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    fleet.beat()
    fleet.plain(concurrency=3)
    asked = {"journal": fleet.journal, "flag": fleet.flag("go")}
    run_id = fleet.start(
        [calling("wait", f"w{i}", input=asked) for i in range(3)]
        + [{"name": "x", "function": "t.add", "input": {"a": 1}}]
    )
    noted(fleet, "begun", 3)
    wait_for(lambda: fleet.step(run_id, "x")["status"] == "succeeded", what="another step runs meanwhile")
    fleet.raise_flag("go")
    assert fleet.ended(run_id)["output"] == {"w0": "done", "w1": "done", "w2": "done", "x": 2}


def test_answers_come_in_while_every_process_of_the_worker_is_busy(fleet: Fleet) -> None:
    fleet.worker(concurrency=1)
    fleet.beat()
    fleet.plain()
    first = fleet.start([calling("wait", input={"journal": fleet.journal, "flag": fleet.flag("go")})])
    noted(fleet, "begun")
    busy = {"journal": fleet.folder / "own", "file": fleet.flag("free")}
    other = fleet.start(
        [{"name": "x", "function": "t.wait", "input": {key: str(value) for key, value in busy.items()}}]
    )
    wait_for(lambda: fleet.step(other, "x")["status"] == "running", what="the worker is busy")
    fleet.raise_flag("go")
    assert fleet.ended(first)["status"] == "succeeded"
    fleet.raise_flag("free")
    assert fleet.ended(other)["status"] == "succeeded"


@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_tasks_are_called_and_answered_on_every_pool(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool)
    fleet.beat()
    fleet.plain(pool=pool)
    run_id = fleet.start([calling("add", input={"a": 1}), calling("add", "b", input={"a": 2}, depends_on=["a"])])
    assert fleet.ended(run_id)["output"] == {"b": 3}


def test_a_canceled_run_does_not_wait_for_its_task(ours: Fleet) -> None:
    plain = ours.plain()
    asked = {"journal": ours.journal, "flag": ours.flag("go")}
    run_id = ours.start([calling("wait", input=asked)])
    noted(ours, "begun")
    cancel(ours.engine, run_id)
    assert ours.ended(run_id)["status"] == "canceled"
    ours.raise_flag("go")
    answered(ours, plain)
    assert ours.step(run_id, "a")["status"] == "canceled"


def test_a_task_of_a_canceled_run_that_has_not_begun_does_not_begin(ours: Fleet) -> None:
    plain = ours.plain(concurrency=1)
    first = ours.start([calling("wait", input={"journal": ours.journal, "flag": ours.flag("go")})])
    noted(ours, "begun")
    run_id = ours.start([calling("wait", input={"journal": ours.journal, "flag": ours.flag("go")})])
    waits(ours, run_id)
    wait_for(lambda: plain.said().count("received") == 2, what="the second message is taken")
    cancel(ours.engine, run_id)
    wait_for(lambda: "flagged as revoked" in plain.said(), what="its worker was told")
    ours.raise_flag("go")
    assert ours.ended(first)["status"] == "succeeded"
    wait_for(lambda: "Discarding revoked task" in plain.said(), what="the second is discarded")
    assert notes(ours)[1:] == ["ends"]


def test_two_hundred_tasks_join_once(ours: Fleet) -> None:
    ours.plain(concurrency=2)
    names = [f"s{i}" for i in range(200)]
    steps = [calling("add", name, input={"a": i, "b": 0}) for i, name in enumerate(names)]
    total = "{{ steps.values() | map(attribute='output') | select('number') | sum }}"
    join = {"name": "join", "function": "python.echo", "input": {"sum": total}, "depends_on": names}
    run_id = ours.start([*steps, join], output="{{ steps.join.output }}")
    run = ours.ended(run_id, 120)
    assert (run["status"], run["output"]) == ("succeeded", {"sum": sum(range(200))})
    assert ours.rows("SELECT count(*) AS n FROM workflow_step_attempts")[0].n == 201


def test_what_is_no_answer_is_dropped(ours: Fleet) -> None:
    ours.plain()
    with redis.Redis.from_url(ours.broker_url) as client:
        client.lpush(ANSWERS, "not a message")
    for args in ([], [1, 2, 3], [{}, "x", "y"]):
        ours.engine.transport._reach(  # type: ignore[attr-defined]
            lambda connection, producer, args=args: producer.publish(
                [args, {}, {}], exchange="", routing_key=ANSWERS, serializer="json", headers={"task": FAILURE}
            )
        )
    assert ours.ended(ours.start([calling("add", input={"a": 1})]))["output"] == {"a": 2}


def test_answers_that_came_while_no_worker_was_there_are_taken_in_by_the_next(fleet: Fleet) -> None:
    fleet.beat()
    worker = fleet.worker()
    fleet.plain()
    run_id = fleet.start([calling("wait", input={"journal": fleet.journal, "flag": fleet.flag("go")})])
    noted(fleet, "begun")
    worker.signal(signal.SIGKILL)
    worker.popen.wait()
    fleet.raise_flag("go")
    noted(fleet, "ends")
    fleet.worker()
    assert fleet.ended(run_id)["output"] == {"a": "done"}
