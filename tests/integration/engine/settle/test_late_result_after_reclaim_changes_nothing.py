"""A worker whose lease was taken cannot write anything."""

from __future__ import annotations

from datetime import timedelta

import pytest

from orchestrator import testing
from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.services.claim import Claimed, claim
from orchestrator.services.coordinate import tick
from orchestrator.services.settle import settle
from orchestrator.store import lease, logs
from orchestrator.store.logs import LogLine
from orchestrator.store.transition import Lease
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, step

WORKFLOW = document(step("a", publish={"seen": "{{ result }}"}), step("b", "a"), vars={"seen": None})
_ERROR = ErrorInfo("RuntimeError", "late")
OUTCOMES = {
    "success": Outcome.succeeded({"late": True}, '{"late":true}'),
    "failure": Outcome.failed(_ERROR),
    "skip": Outcome(OutcomeKind.SKIPPED, error=_ERROR),
    "loss": Outcome.lost("late"),
}


def taken_and_lost(box: Sandbox) -> Claimed:
    """An attempt whose worker fell silent, and whose step was taken back."""
    (claimed,) = claim(box.engine, [box._waiting.popleft()], Lease("silent", 15))
    box.clock.skip(timedelta(seconds=16))
    tick(box.engine)
    return claimed


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
def test_while_the_step_waits_for_another_worker(outcome: Outcome) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW)
        late = taken_and_lost(box)
        before = box.result(run_id)
        assert before.steps["a"].history[0]["outcome"] == "lost"
        assert settle(box.engine, late, outcome).stale
        assert box.result(run_id) == before


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
def test_while_another_worker_runs_the_step(outcome: Outcome) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW)
        late = taken_and_lost(box)
        (other,) = claim(box.engine, [box._waiting.popleft()], Lease("other", 15))
        before = box.result(run_id)
        assert settle(box.engine, late, outcome).stale
        assert box.result(run_id) == before
        assert not settle(box.engine, other, Outcome.succeeded(1, "1")).stale


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES)
def test_after_another_worker_ended_the_step(outcome: Outcome) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW)
        late = taken_and_lost(box)
        box.drive(run_id)
        before = box.result(run_id)
        assert before.status == "succeeded"
        assert settle(box.engine, late, outcome).stale
        assert box.result(run_id) == before


def test_no_heartbeat_log_progress_or_input_of_it_is_kept() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(WORKFLOW)
        late = taken_and_lost(box)
        before = box.result(run_id)
        conn, id, token = box.connection, late.step_id, late.token
        now = box.result(run_id).events[0]["at"]
        assert lease.heartbeat(conn, [(id, token)], 15) == set()
        assert lease.set_progress(conn, id, token, {"done": 1}) is None
        lease.set_input(conn, id, token, '{"late":true}')
        assert not logs.append_logs(conn, id, token, [LogLine(now, "stdout", "info", "late")])
        assert settle(box.engine, late, OUTCOMES["success"], lines=[LogLine(now, "stdout", "info", "late")]).stale
        assert box.result(run_id) == before
