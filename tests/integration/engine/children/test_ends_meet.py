"""A child's end, its parent's and what people do meet at any moment: one end each, none lost, no deadlock."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.errors import Conflict
from orchestrator.services import tell
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.dispatch import dispatch
from orchestrator.services.pause import pause, resume
from orchestrator.services.settle import settle
from orchestrator.store import transition
from orchestrator.store.children import is_over
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.families import below, children_of, levels, line, only_child, start_family, unwatched
from tests.hands import SUCCESS, Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import deadlocks
from tests.support import soaked, wait_for
from tests.watching import blocked

pytestmark = pytest.mark.timeout(300)  # on a slow machine
ENDS = ("run.succeeded", "run.failed", "run.canceled")
HUNDREDS = soaked(1, 5)


def settled(hands: Hands) -> None:
    """Work, and let the coordinator look, until nothing is left to do."""
    for _ in range(3):
        hands.work()
        tick(hands.engine)
    hands.work()


def check_ends(hands: Hands, *run_ids: str) -> None:
    """Each has ended, once."""
    for run_id in run_ids:
        ends = Counter(kind for kind in hands.events(run_id) if kind in ENDS)
        assert ends.total() == 1, (run_id, hands.status(run_id), ends)


def unless_over(act: Callable[[], Any]) -> None:
    try:
        act()
    except Conflict:
        return


FAMILY = [
    document(below("down", "low"), step("own"), step("last", "own", "down"), name="top"),
    document(step("leaf"), name="low"),
]


def under_way(hands: Hands) -> tuple[str, str, list[Any]]:
    """A parent and its child, with the attempts of the parent's own step and of the child's, not settled yet."""
    run_id = start_family(hands, *FAMILY)
    held = hands.hold_back(2)
    assert len(held) == 2
    return run_id, only_child(hands, run_id), held


@pytest.mark.parametrize("hundred", range(HUNDREDS))
def test_parent_and_child_complete_while_both_are_canceled(db: Database, hundred: int) -> None:
    hands, chance = Hands(db), random.Random(hundred)
    for _ in range(soaked(66, 100)):
        run_id, child, held = under_way(hands)
        acts: list[Callable[[], Any]] = [partial(hands.settle_all, [one]) for one in held]
        for target in (run_id, child):
            acts.append(partial(unless_over, partial(cancel, hands.engine, target, force=chance.random() < 0.5)))
        acts.append(partial(tick, hands.engine))
        together(chance.sample(acts, len(acts)))
        settled(hands)
        check_ends(hands, run_id, child)
    assert (deadlocks(db), unwatched(hands)) == (0, [])


def test_parent_and_child_are_paused_and_resumed_while_they_complete(db: Database) -> None:
    hands, chance = Hands(db), random.Random(1)
    for _ in range(soaked(10, 40)):
        run_id, child, held = under_way(hands)
        acts: list[Callable[[], Any]] = [partial(hands.settle_all, [one]) for one in held]
        acts += [partial(unless_over, partial(act, hands.engine, run_id)) for act in (pause, resume)]
        acts += [partial(unless_over, partial(act, hands.engine, child)) for act in (pause, resume)]
        together(chance.sample(acts, len(acts)))
        for target in (run_id, child):
            unless_over(partial(resume, hands.engine, target))
        settled(hands)
        check_ends(hands, run_id, child)
        assert line(hands, run_id) == ["succeeded", "succeeded"]
    assert (deadlocks(db), unwatched(hands)) == (0, [])


def down_again(hands: Hands) -> tuple[str, Any, Any]:
    """A parent's step that was woken although its child goes on: its second half, and the child's last attempt."""
    run_id = start_family(hands, *levels("top", "low"))
    for claimed in hands.claim():
        hands.settle(claimed)
    (leaf,) = hands.claim()
    with hands.db.transaction() as conn:
        step_id = conn.scalar(text("SELECT id FROM workflow_run_steps WHERE run_id = :id"), {"id": run_id})
        queues = transition.wake(conn, [step_id])
    dispatch(hands.engine, queues)
    (again,) = hands.claim()
    return run_id, hands.perform(again), hands.perform(leaf)


def test_a_child_that_ends_as_its_parents_step_is_suspended_is_never_lost(db: Database) -> None:
    hands = Hands(db)
    for _ in range(soaked(25, 100)):
        run_id, again, leaf = down_again(hands)
        assert again.outcome.suspension is not None
        together([partial(hands.settle_all, [again]), partial(hands.settle_all, [leaf])])
        settled(hands)
        assert line(hands, run_id) == ["succeeded", "succeeded"]
        assert hands.steps(run_id)["down"]["attempts"] == 1
    assert (deadlocks(db), unwatched(hands)) == (0, [])


def test_a_child_that_ends_between_the_look_and_the_commit_of_a_suspension_wakes_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands = Hands(db)
    run_id, again, leaf = down_again(hands)
    looked, ended = threading.Event(), threading.Event()

    def look(conn: Any, child_run_id: str) -> bool:
        over = is_over(conn, child_run_id)
        looked.set()
        wait_for(lambda: blocked(db), what="the teller of the child's end to wait for the step")
        return over

    monkeypatch.setattr("orchestrator.services.kinds.child.children.is_over", look)

    def end() -> None:
        wait_for(looked.is_set, what="the suspension to have looked")
        hands.settle_all([leaf])
        ended.set()

    together([partial(hands.settle_all, [again]), end])
    hands.work()
    assert (ended.is_set(), line(hands, run_id)) == (True, ["succeeded", "succeeded"])


def test_a_child_that_ends_as_its_parents_step_times_out_ends_it_once(db: Database) -> None:
    hands = Hands(db)
    ends = Counter[str]()
    for _ in range(soaked(20, 80)):
        run_id = start_family(hands, *levels("top", "low"))
        for claimed in hands.claim():
            hands.settle(claimed)
        (leaf,) = hands.claim()
        with db.transaction() as conn:
            past = "attempt_deadline_at = orchestrator_now(), wake_at = orchestrator_now()"
            conn.execute(text(f"UPDATE workflow_run_steps SET {past} WHERE run_id = :id"), {"id": run_id})
        together([partial(tick, hands.engine), partial(hands.settle_all, [hands.perform(leaf)]), hands.work])
        settled(hands)
        child = only_child(hands, run_id)
        check_ends(hands, run_id, child)
        ends[f"{hands.status(run_id)} {hands.status(child)}"] += 1
    assert set(ends) <= {"succeeded succeeded", "failed canceled", "failed succeeded"}
    assert (deadlocks(db), unwatched(hands)) == (0, [])


def test_a_child_that_ends_as_its_parent_is_canceled_by_force_changes_nothing(db: Database) -> None:
    hands = Hands(db)
    for _ in range(soaked(15, 60)):
        run_id, again, leaf = down_again(hands)
        stop = partial(unless_over, partial(cancel, hands.engine, run_id, force=True))
        together([partial(hands.settle_all, [again]), partial(hands.settle_all, [leaf]), stop])
        settled(hands)
        check_ends(hands, run_id, only_child(hands, run_id))
    assert (deadlocks(db), unwatched(hands)) == (0, [])


def test_a_parent_canceled_as_its_child_is_started_leaves_none_behind(db: Database) -> None:
    hands, chance = Hands(db), random.Random(2)
    for _ in range(soaked(15, 60)):
        run_id = start_family(hands, *levels("top", "low"))
        done = [hands.perform(claimed) for claimed in hands.claim()]
        stop = partial(unless_over, partial(cancel, hands.engine, run_id, force=chance.random() < 0.5))
        together([partial(hands.settle_all, done), stop])
        settled(hands)
        check_ends(hands, run_id, *children_of(hands, run_id))
        assert set(line(hands, run_id)) == {"canceled"}
    assert (deadlocks(db), unwatched(hands)) == (0, [])


def test_a_child_is_told_of_once_however_many_tell(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "low"))
    for claimed in hands.claim():
        hands.settle(claimed)
    (leaf,) = hands.claim()
    child = only_child(hands, run_id)
    told = together(
        [partial(settle, hands.engine, leaf, SUCCESS), *[partial(tell.tell_parent, hands.engine, child)] * 6]
    )
    assert sum(bool(one) for one in told[1:]) + bool(told[0].queues) == 1
    tick(hands.engine)
    hands.work()
    assert line(hands, run_id) == ["succeeded", "succeeded"]
    assert hands.steps(run_id)["down"]["attempts"] == 1
