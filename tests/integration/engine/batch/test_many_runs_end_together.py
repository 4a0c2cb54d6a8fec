"""Runs that end in one settle are closed together, each as it would be by itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from sqlalchemy import text

from orchestrator.domain.outcome import Outcome
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed
from orchestrator.services.dispatch import dispatch
from orchestrator.services.pause import pause, resume
from orchestrator.services.settle_all import Done, SettledAll, settle_all
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.families import children_of, column, levels, start_family
from tests.hands import Hands, together

LEAF = document(step("a"), step("b"))


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db)


def done(claimed: Sequence[Claimed]) -> list[Done]:
    """Each gives the id of its run."""
    return [Done(one, Outcome.succeeded({"r": one.run_id}, f'{{"r":"{one.run_id}"}}'), "{}") for one in claimed]


def settle(hands: Hands, claimed: Sequence[Claimed]) -> SettledAll:
    return settle_all(hands.engine, done(claimed))


def claim_all(hands: Hands) -> list[Claimed]:
    """All that can be: what a message is sent for, and what becomes ready as a step that starts a child ends."""
    found: list[Claimed] = []
    while claimed := hands.claim():
        for one in claimed:
            site = hands.engine.site(one.revision_id, one.position)
            if site is not None and site.step.workflow is not None:
                hands.settle(one)
            else:
                found.append(one)
    return found


def test_each_has_its_own_output_and_its_own_end(hands: Hands) -> None:
    runs = [hands.start(LEAF) for _ in range(6)]
    paused, halting, open_one, *plain = runs
    claimed = claim_all(hands)
    pause(hands.engine, paused)
    with hands.db.transaction() as conn:
        conn.execute(text("UPDATE workflow_runs SET halting = 'drain' WHERE id = :id"), {"id": halting})
    left = next(one for one in claimed if one.run_id == open_one)
    settled = settle(hands, [one for one in claimed if one is not left])
    assert (settled.stale, settled.queues) == (frozenset(), frozenset())
    assert [hands.status(run) for run in runs] == ["paused", "running", "running", *["succeeded"] * 3]
    for run in plain:
        assert column(hands, run, "output") == {"a": {"r": run}, "b": {"r": run}}
        assert hands.events(run) == ["run.started", "run.succeeded"]
    assert settle(hands, [left]).stale == frozenset()
    assert hands.status(open_one) == "succeeded"
    resume(hands.engine, paused)
    assert hands.events(paused)[-1] == "run.succeeded"
    assert column(hands, halting, "finished_at") is None


def test_every_parent_that_waits_is_told(hands: Hands) -> None:
    parents = [start_family(hands, *levels("upper", "lower")) for _ in range(3)]
    alone = hands.start(LEAF)
    claimed = claim_all(hands)
    children = [child for parent in parents for child in children_of(hands, parent)]
    assert {one.run_id for one in claimed} == {alone, *children}
    settled = settle(hands, claimed)
    dispatch(hands.engine, settled.queues)
    hands.work()
    assert {hands.status(run) for run in (*parents, *children, alone)} == {"succeeded"}
    for run in (*parents, *children):
        assert hands.events(run).count("run.succeeded") == 1


def test_one_that_does_not_end_plainly_keeps_no_other_open(hands: Hands) -> None:
    runs = [hands.start(LEAF) for _ in range(3)]
    claimed = claim_all(hands)
    cancel(hands.engine, runs[1])
    assert settle(hands, claimed).stale == frozenset()
    assert [hands.status(run) for run in runs] == ["succeeded", "canceled", "succeeded"]


def test_settles_of_the_same_runs_at_one_moment_end_each_once(hands: Hands) -> None:
    """In whatever order each names them; the second to lock a run sees what the first has done."""
    for _ in range(5):
        runs = [hands.start(LEAF) for _ in range(8)]
        claimed = claim_all(hands)
        halves = [[one for one in claimed if one.position == position] for position in (0, 1)]
        halves[1].reverse()
        settled = together([partial(settle, hands, half) for half in halves])
        assert [one.stale for one in settled] == [frozenset()] * 2
        assert {hands.status(run) for run in runs} == {"succeeded"}
        assert all(hands.events(run).count("run.succeeded") == 1 for run in runs)
