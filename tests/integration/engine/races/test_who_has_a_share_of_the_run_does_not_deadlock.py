"""Of a step that is written twice in a transaction Postgres checks the key, and locks the run's row in share for it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.services import halt
from orchestrator.services.halt import apply_halt
from orchestrator.services.pause import pause, resume
from orchestrator.store import runs
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import SUCCESS, Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import deadlocks
from tests.support import wait_for
from tests.watching import blocked

FAILURE = Outcome.failed(ErrorInfo("RuntimeError", "no luck", classes=("RuntimeError", "Exception")), final=True)


def test_a_run_is_resumed_while_it_is_drained(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The halt has written steps twice and is about to write the run, which the resume has written and locks then."""
    hands = Hands(db)
    run_id = hands.start(document(step("bad"), step("other"), step("b", "other"), step("c", "b"), failure_mode="drain"))
    bad, other = hands.claim()
    pause(hands.engine, run_id)
    with monkeypatch.context() as patch:
        patch.setattr(halt, "apply_halt", lambda *_: frozenset())
        hands.settle(bad, FAILURE)
    moments: list[str] = []
    clear = runs.clear_halt

    def resumed() -> None:
        wait_for(lambda: moments, what="the steps are stopped")
        resume(hands.engine, run_id)
        moments.append("resumed")

    def cleared(*args: Any) -> None:
        moments.append("stopped")
        wait_for(lambda: "resumed" in moments or blocked(db), what="the resume is through, or waits")
        clear(*args)

    monkeypatch.setattr(runs, "clear_halt", cleared)
    together([resumed, partial(apply_halt, hands.engine, run_id)])
    assert deadlocks(db) == 0
    hands.settle(other, SUCCESS)
    assert hands.status(run_id) == "failed"
