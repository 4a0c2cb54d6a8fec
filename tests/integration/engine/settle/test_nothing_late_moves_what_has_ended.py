"""Messages, results, sweeps and answers that come once a step or its run has ended change nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from orchestrator import testing
from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed, claim
from orchestrator.services.coordinate import DUTIES, do, tick
from orchestrator.services.settle import settle
from orchestrator.store.transition import Lease, Queued
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, Document, document, step
from tests.hands import finish

LATE = {
    "success": Outcome.succeeded(7, "7"),
    "failure": Outcome.failed(ErrorInfo("RuntimeError", "late")),
    "loss": Outcome.lost("late"),
    "wait": Outcome.suspended({"for": "time", "until": "2030-01-01T00:00:00+00:00"}, 1.0),
}
ENDS: dict[str, Document] = {
    "succeeded": document(
        step("a", timeout=60, retry={"max_attempts": 2, "delay": 5}),
        {"name": "nap", "sleep": 5, "depends_on": "a"},
        step("each", "nap", with_items=[1, 2, 3]),
        timeout=3600,
    ),
    "failed": document(step("a", function="fail", retry={"max_attempts": 2, "delay": 5}), step("b", "a"), timeout=3600),
    "canceled": document(step("a", total_timeout=60), step("b", "a"), timeout=3600),
}


def work(box: Sandbox, run_id: str, end: str) -> tuple[list[Queued], list[Claimed]]:
    """Work until the run has ended, or cancel it as its first step runs: all that was sent, and all attempts."""
    sent, attempts = list[Queued](), list[Claimed]()
    while box.result(run_id).status == "running":
        if not box._waiting:
            box._wait(run_id)
            continue
        sent.append(box._waiting.popleft())
        taken = claim(box.engine, sent[-1:], Lease("testing", 3600.0))
        attempts += taken
        if end == "canceled":
            cancel(box.engine, run_id, force=True)
        for claimed in taken:
            finish(box.engine, claimed)
    return sent, attempts


@pytest.mark.parametrize("end", ENDS)
def test_what_comes_after_the_end_changes_nothing(end: str) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        run_id = box.start(ENDS[end])
        sent, attempts = work(box, run_id, end)
        before = box.result(run_id)
        assert before.status == end
        assert claim(box.engine, sent, Lease("late", 60)) == []  # a delayed "running"
        assert attempts
        for claimed in attempts:
            for outcome in LATE.values():
                assert settle(box.engine, claimed, outcome).stale
        for _ in range(3):  # sweeps, long after every lease, deadline and timeout
            box.clock.skip(timedelta(days=1))
            tick(box.engine)
            do(box.engine, DUTIES)
        assert not box._waiting
        after = box.result(run_id)
        assert (after.status, after.steps, after.events) == (before.status, before.steps, before.events)
