"""What operators do to runs is done to runs of functions too."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, StepFailed
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.services.why import why
from orchestrator.store.db import Database
from tests.coding import Coders


class Shaky:
    """A function that fails while it is told to."""

    def __init__(self) -> None:
        self.fails, self.calls = True, 0

    def __call__(self) -> str:
        self.calls += 1
        if self.fails:
            raise RuntimeError("no luck")
        return "fine"


@pytest.fixture
def shaky() -> Shaky:
    return Shaky()


@pytest.fixture
def coders(module_db: Database, shaky: Shaky) -> Coders:
    return Coders(module_db, {"double": lambda n: 2 * n, "shaky": shaky})


def test_a_retry_does_again_what_failed_last_and_nothing_else(coders: Coders, shaky: Shaky) -> None:
    here: list[int] = []

    def work(ctx: Any, input: Any) -> Any:
        ctx.step("once", here.append, 1)
        return ctx.gather(
            *[ctx.start_call(f, i) for f, i in (("double", {"n": 1}), ("shaky", {}), ("double", {"n": 2}))]
        )

    run_id = coders.begin(work)
    assert coders.finish(run_id)["status"] == "failed"
    shaky.fails = False
    assert retry(coders.engine, run_id) == 2
    assert coders.finish(run_id)["output"] == [2, "fine", 4]
    assert (here, shaky.calls) == ([1], 2)
    assert [len(step["history"]) for step in coders.steps(run_id).values()] == [2, 1, 2, 1]


def test_a_retry_of_a_step_in_the_functions_process_does_it_again(coders: Coders, shaky: Shaky) -> None:
    def work(ctx: Any, input: Any) -> Any:
        started = ctx.now()
        try:
            return ctx.step("here", shaky)
        finally:
            assert ctx.now() >= started

    run_id = coders.begin(work)
    assert coders.finish(run_id)["error"]["message"] == "here: no luck"
    shaky.fails = False
    retry(coders.engine, run_id)
    assert coders.finish(run_id)["output"] == "fine"


def test_a_failure_that_the_function_went_on_after_stays_as_it_is(coders: Coders, shaky: Shaky) -> None:
    def work(ctx: Any, input: Any) -> Any:
        try:
            return ctx.call("shaky")
        except StepFailed:
            ctx.call("double", {"n": 1}, name="refund")
            raise

    run_id = coders.begin(work)
    assert coders.finish(run_id)["status"] == "failed"
    shaky.fails = False
    assert retry(coders.engine, run_id) == 1
    assert coders.finish(run_id)["error"]["message"] == "shaky: no luck"
    with pytest.raises(Conflict, match="has gone on after step 'shaky'"):
        mark(coders.engine, run_id, "shaky", StepStatus.SUCCEEDED, output=1)
    assert shaky.calls == 1


def test_a_canceled_run_goes_on_where_it_stopped(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        a = ctx.call("double", {"n": 1})
        ctx.sleep(3600)
        return a

    run_id = coders.begin(work)
    coders.work()
    cancel(coders.engine, run_id, reason="stop")
    assert coders.status(run_id) == "canceled"
    assert set(coders.statuses(run_id).values()) == {"canceled", "succeeded"}
    assert retry(coders.engine, run_id) == 2
    coders.work()
    assert coders.open_steps(run_id) == {"driver": "waiting", "sleep": "waiting"}
    coders.due(run_id)
    assert coders.finish(run_id)["output"] == 2


@pytest.mark.parametrize("force", [False, True])
def test_a_cancel_stops_a_function_that_runs_at_its_next_verb(coders: Coders, force: bool) -> None:
    def work(ctx: Any, input: Any) -> Any:
        ctx.step("first", lambda: None)
        cancel(coders.engine, ctx.run_id, force=force)
        ctx.step("second", lambda: None)
        ctx.call("double", {"n": 1})

    run_id = coders.begin(work)
    assert coders.finish(run_id)["status"] == "canceled"
    assert coders.statuses(run_id) == {"driver": "canceled"}
    assert [key for _, _, key, _ in coders.journal(run_id)] == (["first"] if force else ["first", "second"])


def test_a_paused_run_begins_nothing_until_it_is_resumed(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        pause(coders.engine, ctx.run_id)
        return ctx.call("double", {"n": 1})

    run_id = coders.begin(work)
    coders.work()
    assert coders.statuses(run_id) == {"driver": "waiting", "double": "ready"}
    coders.know(lambda ctx, input: ctx.call("double", {"n": 1}), "code")
    resume(coders.engine, run_id)
    assert coders.finish(run_id)["output"] == 2


def test_steps_of_a_function_can_be_marked_and_held(coders: Coders, shaky: Shaky) -> None:
    def work(ctx: Any, input: Any) -> Any:
        ok = ctx.wait_event("approved")
        return [ok, ctx.call("shaky")]

    run_id = coders.begin(work)
    coders.work()
    hold(coders.engine, run_id, "driver")
    mark(coders.engine, run_id, "approved", StepStatus.SUCCEEDED, output="by hand")
    coders.work()
    assert coders.statuses(run_id)["driver"] == "ready"
    release(coders.engine, run_id, "driver")
    assert coders.finish(run_id)["status"] == "failed"
    assert mark(coders.engine, run_id, "shaky", StepStatus.SKIPPED) == 1
    assert coders.finish(run_id)["output"] == ["by hand", None]


def test_a_mark_opens_no_run_that_the_workflows_limit_has_no_place_for(coders: Coders, shaky: Shaky) -> None:
    def work(ctx: Any, input: Any) -> Any:
        return ctx.call("shaky") if input == 1 else ctx.wait_event("go")

    first = coders.begin(work, 1, max_active_runs=1)
    assert coders.finish(first)["status"] == "failed"
    second = coders.begin(work, 2, max_active_runs=1)
    with pytest.raises(Conflict, match="max_active_runs"):
        mark(coders.engine, first, "shaky", StepStatus.SUCCEEDED, output=1)
    assert [coders.status(run_id) for run_id in (first, second)] == ["failed", "running"]


def test_what_the_function_did_itself_cannot_be_acted_on_and_says_so(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        ctx.step("here", str)
        return ctx.wait_event("go")

    run_id = coders.begin(work)
    coders.work()
    for act in (
        lambda: hold(coders.engine, run_id, "here"),
        lambda: mark(coders.engine, run_id, "here", StepStatus.SKIPPED),
    ):
        with pytest.raises(Conflict, match="'here' was done by the run's function itself: only its step 'driver'"):
            act()


def test_the_driver_may_be_marked_which_ends_its_run(coders: Coders) -> None:
    run_id = coders.begin(lambda ctx, input: ctx.wait_event("never"))
    coders.work()
    mark(coders.engine, run_id, "driver", StepStatus.SUCCEEDED, output={"by": "hand"})
    assert coders.finish(run_id)["output"] == {"by": "hand"}
    assert coders.statuses(run_id) == {"driver": "succeeded", "never": "canceled"}


def test_a_rerun_begins_anew_and_not_from_a_step(coders: Coders) -> None:
    run_id = coders.begin(lambda ctx, input: ctx.call("double", {"n": input}), 4)
    coders.finish(run_id)
    assert coders.finish(rerun(coders.engine, run_id, input=5).run_id)["output"] == 10
    with pytest.raises(Conflict, match="begins anew"):
        rerun(coders.engine, run_id, from_steps="double")


def test_a_deadline_ends_the_run_with_all_it_has_begun(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        ctx.start_call("double", {"n": 1})
        ctx.wait_event("never")

    run_id = coders.begin(work, timeout=60)
    coders.work()
    with coders.db.transaction() as conn:
        conn.execute(text("UPDATE workflow_runs SET deadline_at = orchestrator_now() WHERE id = :id"), {"id": run_id})
    run = coders.finish(run_id)
    assert run["error"]["type"] == "DeadlineExceeded"
    assert coders.statuses(run_id) == {"driver": "canceled", "double": "succeeded", "never": "canceled"}
    assert coders.steps(run_id)["never"]["reason"] == "deadline"


def test_why_says_what_a_function_waits_for(coders: Coders) -> None:
    run_id = coders.begin(lambda ctx, input: ctx.wait_event("approved", timeout=60))
    coders.work()
    with coders.db.transaction() as conn:
        told = why(conn, coders.engine.plan(_revision(coders, run_id)), run_id, "driver")
    assert told[0] == "'driver' waits for approved."
    assert "'approved' waits for event 'approved'" in told[1]


def _revision(coders: Coders, run_id: str) -> str:
    with coders.db.transaction() as conn:
        return str(conn.execute(text("SELECT revision_id FROM workflow_runs WHERE id = :id"), {"id": run_id}).scalar())


def test_a_function_that_no_worker_knows_fails_its_run_and_says_so(coders: Coders) -> None:
    run_id = coders.begin(lambda ctx, input: None, name="gone")
    coders.engine.functions.workflows._specs.pop("gone")
    assert "function of workflow 'gone' is not known here" in coders.finish(run_id)["error"]["message"]
    tick(coders.engine)
