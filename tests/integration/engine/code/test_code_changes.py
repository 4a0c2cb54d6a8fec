"""New code meets runs that old code has begun."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.domain.definition import Retry
from orchestrator.errors import Locked
from orchestrator.functions import make_workflow
from orchestrator.services.coordinate import tick
from orchestrator.services.register_code import register_workflows
from orchestrator.services.retry import retry
from orchestrator.store import workflows as store
from orchestrator.store.db import Database
from tests.coding import Coders
from tests.support import soaked


@pytest.fixture
def coders(module_db: Database) -> Coders:
    return Coders(module_db, {"double": lambda n: 2 * n})


def _old(ctx: Any, input: Any) -> Any:
    ctx.step("charge", lambda: 1)
    ctx.sleep(60)
    return ctx.call("double", {"n": 1})


def _begun(coders: Coders) -> str:
    run_id = coders.begin(_old)
    coders.work()
    coders.due(run_id)
    return run_id


def test_a_run_whose_code_has_changed_fails_for_good_and_goes_on_with_the_old_code(coders: Coders) -> None:
    def new(ctx: Any, input: Any) -> Any:
        ctx.call("double", {"n": 3})
        return _old(ctx, input)

    run_id = _begun(coders)
    coders.deploy(new, "code")
    run = coders.finish(run_id)
    assert run["error"]["type"] == "CodeChanged"
    assert "at entry 1 the journal has step 'charge' (test_code_changes.py:" in run["error"]["message"]
    assert "the code asks for call 'double' (test_code_changes.py:" in run["error"]["message"]
    coders.deploy(_old, "code")
    retry(coders.engine, run_id)
    assert coders.finish(run_id)["output"] == 2


def test_patched_lets_runs_that_were_begun_before_finish_the_old_way(coders: Coders) -> None:
    def new(ctx: Any, input: Any) -> Any:
        if ctx.patched("check-2026"):
            ctx.call("double", {"n": 21}, name="check")
        return [_old(ctx, input), ctx.patched("check-2026")]

    run_id = _begun(coders)
    coders.deploy(new, "code")
    assert coders.finish(run_id)["output"] == [2, False]
    assert "check" not in coders.statuses(run_id)
    fresh = coders.begin(new)
    coders.work()
    coders.due(fresh)
    assert coders.finish(fresh)["output"] == [2, True]
    assert coders.statuses(fresh)["check"] == "succeeded"


def test_a_step_that_is_tried_again_later_holds_no_worker_until_then(coders: Coders) -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("not yet")
        return "done"

    run_id = coders.begin(lambda ctx, input: ctx.step("flaky", flaky, retry=Retry(max_attempts=3, delay=60)))
    for tried in (1, 2):
        coders.work()
        assert (len(tries), coders.statuses(run_id)) == (tried, {"driver": "waiting"})
        coders.due(run_id)
        with coders.db.transaction() as conn:
            conn.exec_driver_sql("UPDATE workflow_journal SET due_at = orchestrator_now() WHERE due_at IS NOT NULL")
        tick(coders.engine)
    assert coders.finish(run_id)["output"] == "done"
    assert [part for _, part, _, _ in coders.journal(run_id)] == [0, 2, 3]


def test_a_gather_over_very_many_children_wakes_the_function_once(coders: Coders) -> None:
    turns: list[int] = []
    many = soaked(20, 500)

    def parents(ctx: Any, input: Any) -> Any:
        turns.append(1)
        return ctx.gather(*[ctx.spawn_child("leaf", n) for n in range(many)])

    coders.know(lambda ctx, input: input, "leaf")
    assert coders.finish(coders.begin(parents))["output"] == list(range(many))
    assert len(turns) == 2


def test_a_worker_registers_what_it_can_and_tries_again_what_is_locked(
    coders: Coders, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    workflows = coders.engine.functions.workflows
    for name, schema in (("fine", None), ("wrong", {"type": 5}), ("held", None)):
        workflows.put(make_workflow(lambda ctx, input: None, name, input_schema=schema))

    def lock(conn: Any, owner: Any, name: str) -> Any:
        if name == "held" and len(tries) == 0:
            tries.append(name)
            raise Locked("another worker registers it")
        return locked(conn, owner, name)

    tries: list[str] = []
    locked = store.lock_workflow
    monkeypatch.setattr(store, "lock_workflow", lock)
    assert not register_workflows(coders.engine)
    assert register_workflows(coders.engine)
    assert "workflow 'wrong' of tests" in caplog.text
    with coders.db.transaction() as conn:
        found = conn.exec_driver_sql("SELECT name FROM workflows WHERE name IN ('fine', 'wrong', 'held') ORDER BY 1")
        assert list(found.scalars()) == ["fine", "held"]
