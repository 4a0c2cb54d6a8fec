"""What operators do to runs of real workers, at the moments that are hard."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.register import register
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from tests.hands import together
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for


def statuses(fleet: Fleet, run_id: str) -> dict[str, str]:
    rows = fleet.rows("SELECT name, status FROM workflow_run_steps WHERE run_id = :id ORDER BY position", id=run_id)
    return {row.name: row.status for row in rows}


def tried(fleet: Fleet, run_id: str) -> set[str]:
    """The steps that have had an attempt, or have one under way."""
    rows = fleet.rows("SELECT name FROM workflow_run_steps WHERE run_id = :id AND attempt > 0", id=run_id)
    return {row.name for row in rows}


def span(fleet: Fleet, name: str, *sources: str, **keys: Any) -> dict[str, Any]:
    made = {"name": name, "function": "t.span", "input": {"journal": fleet.journal}, "depends_on": list(sources)}
    return made | keys


def waiting(fleet: Fleet, name: str, flag: str) -> dict[str, Any]:
    return {"name": name, "function": "t.wait", "input": {"journal": fleet.journal, "file": fleet.flag(flag)}}


def nothing_is_held(fleet: Fleet) -> bool:
    """No slot is taken and no message is on its way."""
    return not fleet.rows("SELECT FROM workflow_run_steps WHERE status IN ('queued', 'running')")


def test_a_cancel_within_a_moment_of_the_start_starts_nothing_after_it(fleet: Fleet) -> None:
    fleet.worker(concurrency=2)
    fleet.beat()
    steps = [span(fleet, "a"), span(fleet, "b", "a"), span(fleet, "c", "b")]
    begun: dict[str, set[str]] = {}
    for _ in range(40):
        run_id = fleet.start(steps)
        with suppress(Conflict):  # it may be over before its cancel comes
            cancel(fleet.engine, run_id)
        begun[run_id] = tried(fleet, run_id)
    ends = {run_id: fleet.ended(run_id)["status"] for run_id in begun}
    assert "canceled" in ends.values()
    for run_id, then in begun.items():
        assert ends[run_id] == "canceled" or then == {"a", "b", "c"}
        # What had begun when the cancel was done came to its end; nothing began after it.
        assert tried(fleet, run_id) == then
        assert {name for name, status in statuses(fleet, run_id).items() if status != "canceled"} <= then
    assert nothing_is_held(fleet)
    again = fleet.start([{"name": "a", "function": "t.add", "input": {"a": 1}}])
    assert fleet.ended(again)["output"] == {"a": 2}


def test_a_cancel_while_a_step_waits_for_its_next_attempt_ends_the_run_at_once(fleet: Fleet) -> None:
    fleet.worker()
    fleet.beat()
    later = {"name": "a", "function": "t.end", "input": {"how": "hurried"}, "retry": {"max_attempts": 5, "delay": 600}}
    run_id = fleet.start([later, span(fleet, "b", "a")])
    wait_for(lambda: fleet.step(run_id, "a")["history"], what="the first attempt has ended")
    cancel(fleet.engine, run_id)
    assert fleet.ended(run_id, 5)["status"] == "canceled"
    assert statuses(fleet, run_id) == {"a": "canceled", "b": "canceled"}
    # The coordinator has had its turn when another retry that was due has been made.
    other = fleet.start([later | {"retry": {"max_attempts": 5, "delay": 0.5}}])
    wait_for(lambda: len(fleet.step(other, "a")["history"]) > 1, what="a retry that fell due")
    assert len(fleet.step(run_id, "a")["history"]) == 1
    assert fleet.events(step="b") == []


def test_a_cancel_with_no_worker_up_ends_the_run_and_a_worker_that_comes_finds_nothing(fleet: Fleet) -> None:
    run_id = fleet.start([span(fleet, "a"), span(fleet, "b", "a")])
    cancel(fleet.engine, run_id)
    assert fleet.ended(run_id, 5)["status"] == "canceled"
    fleet.worker()
    fleet.beat()
    other = fleet.start([span(fleet, "later")])
    assert fleet.ended(other)["status"] == "succeeded"
    assert {event["step"] for event in fleet.events()} == {"later"}
    assert nothing_is_held(fleet)


def test_a_cancel_while_the_worker_is_dead_leaves_canceling_when_its_lease_has_run_out(fleet: Fleet) -> None:
    worker = fleet.worker()
    fleet.beat()
    run_id = fleet.start([waiting(fleet, "a", "never"), span(fleet, "b", "a")])
    fleet.wait_event("start")
    worker.kill()
    cancel(fleet.engine, run_id)
    assert fleet.ended(run_id)["status"] == "canceled"
    assert statuses(fleet, run_id) == {"a": "canceled", "b": "canceled"}
    assert fleet.tried(run_id, "a") == ["lost"]
    assert nothing_is_held(fleet)


def test_a_retry_runs_what_was_skipped_with_the_failure_and_handlers_see_the_new_status(fleet: Fleet) -> None:
    """Dependants that were skipped because of the failure are decided again; what succeeded is not touched."""
    fleet.worker()
    fleet.beat()
    handler = {"function": "t.add", "input": {"a": "{{ 1 if run.status == 'succeeded' else 100 }}"}}
    steps = [
        span(fleet, "done"),
        {"name": "once", "function": "t.fail_until", "input": {"file": fleet.flag("mended")}, "depends_on": ["done"]},
        span(fleet, "next", "once"),
        span(fleet, "after", "next", trigger_rule="none_failed"),
        span(fleet, "instead", depends_on=[{"step": "next", "on": "skipped"}]),
        span(fleet, "far", "instead"),
    ]
    run_id = fleet.start(steps, on_failure=handler, on_success=handler, on_finish=handler)
    assert fleet.ended(run_id)["status"] == "failed"
    before = statuses(fleet, run_id)
    assert (before["once"], before["next"], before["on_failure"]) == ("failed", "upstream_failed", "succeeded")
    assert before["far"] in ("skipped", "upstream_failed")
    assert fleet.step(run_id, "on_finish")["output"] == 101
    done = fleet.step(run_id, "done")
    fleet.raise_flag("mended")
    retry(fleet.engine, run_id)
    assert fleet.ended(run_id)["status"] == "succeeded"
    after = statuses(fleet, run_id)
    assert {name: after[name] for name in ("once", "next", "after", "instead", "far")} == {
        "once": "succeeded",
        "next": "succeeded",
        "after": "succeeded",
        "instead": "skipped",
        "far": "skipped",
    }
    assert fleet.step(run_id, "done") == done
    assert (fleet.step(run_id, "on_success")["output"], fleet.step(run_id, "on_finish")["output"]) == (2, 2)
    assert fleet.tried(run_id, "on_finish") == ["succeeded", "succeeded"]
    assert len(fleet.events("end", "next")) == 1


def test_starts_with_one_key_at_the_same_moment_make_one_run(fleet: Fleet) -> None:
    fleet.worker()
    register(fleet.engine, {"name": "once", "steps": [span(fleet, "a")]})
    for key in map(str, range(10)):
        options = StartOptions(idempotency_key=key)
        started = together([lambda options=options: start(fleet.engine, "once", None, options)] * 4)
        assert len({one.run_id for one in started}) == 1
        assert [one.created for one in started].count(True) == 1
        fleet.ended(started[0].run_id)
    assert len(fleet.events("end", "a")) == 10


def test_an_edit_of_a_workflow_changes_none_of_its_runs_that_are_going(fleet: Fleet) -> None:
    fleet.worker(concurrency=4)
    fleet.beat()
    document: dict[str, Any] = {
        "name": "edited",
        "steps": [waiting(fleet, "a", "go"), {"name": "b", "function": "t.add", "input": {"a": 1}, "depends_on": "a"}],
        "output": "{{ steps.b.output }}",
    }
    register(fleet.engine, document)
    going = [start(fleet.engine, "edited").run_id for _ in range(3)]
    fleet.wait_event("start", count=3)
    changed = {
        "name": "edited",
        "steps": [
            {"name": "b", "function": "t.add", "input": {"a": 100}},
            {"name": "c", "function": "t.add", "input": {"a": 200}, "depends_on": "b"},
        ],
        "output": "{{ steps.c.output }}",
        "failure_mode": "cancel",
        "on_success": {"function": "t.add", "input": {"a": 0}},
    }
    assert register(fleet.engine, changed).revision == 2
    new = start(fleet.engine, "edited").run_id
    assert fleet.ended(new)["output"] == 201
    fleet.raise_flag("go")
    for run_id in going:
        assert fleet.ended(run_id)["output"] == 2
        assert list(statuses(fleet, run_id)) == ["a", "b"]
    again = rerun(fleet.engine, going[0]).run_id
    assert fleet.ended(again)["output"] == 2
    assert fleet.ended(rerun(fleet.engine, going[0], revision="latest").run_id)["output"] == 201


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_held_step_is_not_begun_by_workers_until_it_is_released(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool, concurrency=2)
    fleet.beat()
    run_id = fleet.start([waiting(fleet, "a", "go"), span(fleet, "b", "a"), span(fleet, "c", "b")])
    fleet.wait_event("start", "a")
    hold(fleet.engine, run_id, "b")
    fleet.raise_flag("go")
    wait_for(lambda: statuses(fleet, run_id)["b"] == "ready", what="b is ready")
    others = [fleet.start([span(fleet, "other")]) for _ in range(5)]
    for other in others:
        assert fleet.ended(other)["status"] == "succeeded"
    assert statuses(fleet, run_id) == {"a": "succeeded", "b": "ready", "c": "pending"}
    release(fleet.engine, run_id, "b")
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert len(fleet.events("end", "b")) == 1


def test_a_running_step_that_is_marked_by_force_is_cut_off_and_its_run_goes_on(fleet: Fleet) -> None:
    fleet.worker(LEASE_SECONDS="60", TIMEOUT_GRACE_SECONDS="30")
    reader = {"name": "b", "function": "t.add", "input": {"a": "{{ steps.a.output }}"}, "depends_on": ["a"]}
    run_id = fleet.start([waiting(fleet, "a", "never"), reader])
    fleet.wait_event("start")
    mark(fleet.engine, run_id, "a", StepStatus.SUCCEEDED, output=41, force=True)
    assert fleet.ended(run_id)["output"] == {"b": 42}
    assert fleet.wait_event("raised")["error"] == "AttemptCanceled"
    assert fleet.tried(run_id, "a") == ["canceled"]


def test_a_rerun_from_a_step_runs_on_the_workers_with_what_was_kept(fleet: Fleet) -> None:
    fleet.worker()
    fleet.beat()
    graph = [
        span(fleet, "a"),
        {"name": "b", "function": "t.add", "input": {"a": "{{ steps.a.output }}", "b": 10}, "depends_on": ["a"]},
    ]
    run_id = fleet.start(graph)
    assert fleet.ended(run_id)["output"] == {"b": 11}
    made = rerun(fleet.engine, run_id, from_steps="b")
    assert fleet.ended(made.run_id)["output"] == {"b": 11}
    assert len(fleet.events("end", "a")) == 1
