"""Reclaim: by the database's clock, once, and only what fell silent."""

from __future__ import annotations

from datetime import timedelta

from orchestrator import testing
from orchestrator.domain.outcome import Outcome
from orchestrator.services.claim import Claimed, claim
from orchestrator.services.coordinate import tick
from orchestrator.services.settle import settle
from orchestrator.store import lease
from orchestrator.store.transition import Lease
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, step


def taken(box: Sandbox, seconds: float = 15) -> Claimed:
    (claimed,) = claim(box.engine, [box._waiting.popleft()], Lease("w", seconds))
    return claimed


def after(box: Sandbox, seconds: float) -> None:
    box.clock.skip(timedelta(seconds=seconds))
    tick(box.engine)


def test_a_step_whose_worker_fell_silent_is_sent_again() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a")))
        taken(box)
        after(box, 16)
        box.drive(run_id)
        a = box.result(run_id).steps["a"]
    assert [entry["outcome"] for entry in a.history] == ["lost", "succeeded"]
    assert "stopped answering" in a.history[0]["error"]["message"]


def test_a_lease_that_holds_is_left_alone() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a")))
        claimed = taken(box)
        after(box, 14)
        assert box.result(run_id).steps["a"].status == "running"
        assert not settle(box.engine, claimed, Outcome.succeeded(1, "1")).stale


def test_a_heartbeat_renews_the_lease() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a"), step("b")))
        kept, silent = taken(box), taken(box)
        for _ in range(5):
            box.clock.skip(timedelta(seconds=10))
            assert lease.heartbeat(box.connection, [(kept.step_id, kept.token)], 15) == {kept.token}
            tick(box.engine)
        steps = box.result(run_id).steps
        assert steps["a"].status == "running"
        assert [entry["outcome"] for entry in steps["b"].history] == ["lost"]
        assert lease.heartbeat(box.connection, [(silent.step_id, silent.token)], 15) == set()


def test_an_attempt_that_nobody_ends_at_its_timeout_is_ended_by_the_coordinator() -> None:
    """A worker that cannot interrupt its function keeps the lease alive; the timeout holds all the same."""
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a", timeout=30)))
        claimed = taken(box, 3600)
        with box.engine.db.transaction() as conn:
            conn.exec_driver_sql(
                "UPDATE workflow_run_steps SET attempt_deadline_at = orchestrator_now() + interval '30 s'"
            )
        after(box, 31)
        assert box.result(run_id).steps["a"].status == "running", "the worker has a grace to do it itself"
        after(box, 5)
        a = box.result(run_id).steps["a"]
        assert (a.status, a.reason) == ("failed", "timeout")
        assert settle(box.engine, claimed, Outcome.succeeded(1, "1")).stale


def test_two_coordinators_take_it_back_once() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(document(step("a")))
        taken(box)
        after(box, 16)
        tick(box.engine)
        tick(box.engine)
        assert len(box._waiting) == 1
        assert len(box.result(run_id).steps["a"].history) == 1
