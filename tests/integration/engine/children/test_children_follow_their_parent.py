"""Cancel, pause, deadlines and halts reach every run below; nothing outlives what it should not (docs/adr/0017)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.store.db import Database
from tests.documents import FUNCTIONS, document, step
from tests.families import below, children_of, column, levels, line, only_child, start_family, unwatched
from tests.hands import SUCCESS, Hands, audited

FOUR = ("top", "second", "third", "low")


def deep(db: Database, *names: str, **keys: Any) -> tuple[Hands, str]:
    """A family whose lowest run has a message for its step `leaf`, unclaimed."""
    hands = Hands(db)
    names = names or FOUR
    run_id = start_family(hands, *levels(*names, **keys))
    for _ in names[1:]:
        for claimed in hands.claim():
            hands.settle(claimed)
    return hands, run_id


def lowest(hands: Hands, run_id: str) -> str:
    while lower := children_of(hands, run_id):
        (run_id,) = lower
    return run_id


# Cancel.


def test_a_cancel_reaches_three_levels_and_nothing_starts_after_it(db: Database) -> None:
    hands, run_id = deep(db)
    cancel(hands.engine, run_id, reason="wrong customer", actor="ada")
    assert line(hands, run_id) == ["canceling", "canceling", "canceling", "canceled"]
    hands.work()
    assert line(hands, run_id) == ["canceled"] * 4
    leaf = hands.steps(lowest(hands, run_id))["leaf"]
    assert (leaf["status"], leaf["attempts"]) == ("canceled", 0)  # its message has died
    assert {s["status"] for s in hands.steps(run_id).values()} == {"canceled"}
    assert unwatched(hands) == []


def test_while_a_leaf_ends_gracefully_all_above_it_are_canceling(db: Database) -> None:
    hands, run_id = deep(db)
    (leaf,) = hands.claim()
    cancel(hands.engine, run_id)
    assert line(hands, run_id) == ["canceling"] * 4
    assert hands.steps(run_id)["down"]["status"] == "waiting"
    tick(hands.engine)
    assert hands.claim() == []
    hands.settle(leaf, SUCCESS)
    hands.work()
    assert line(hands, run_id) == ["canceled"] * 4
    assert hands.steps(lowest(hands, run_id))["leaf"]["status"] == "succeeded"
    assert (hands.steps(run_id)["down"]["status"], hands.steps(run_id)["down"]["reason"]) == ("canceled", "canceled")


def test_a_forced_cancel_ends_all_levels_now(db: Database) -> None:
    hands, run_id = deep(db)
    (leaf,) = hands.claim()
    cancel(hands.engine, run_id, force=True)
    assert line(hands, run_id) == ["canceled"] * 4
    assert hands.settle(leaf, SUCCESS).stale
    tick(hands.engine)
    assert (hands.claim(), unwatched(hands)) == ([], [])


def test_force_may_follow_a_graceful_cancel_on_all_levels(db: Database) -> None:
    hands, run_id = deep(db)
    hands.claim()
    cancel(hands.engine, run_id)
    assert line(hands, run_id) == ["canceling"] * 4
    cancel(hands.engine, run_id, force=True)
    assert line(hands, run_id) == ["canceled"] * 4


def test_a_cancel_of_the_parent_as_its_step_begins_starts_no_child(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "low"))
    done = [hands.perform(claimed) for claimed in hands.claim()]
    cancel(hands.engine, run_id)
    hands.settle_all(done)
    assert (hands.status(run_id), children_of(hands, run_id)) == ("canceled", [])


def test_who_canceled_and_why_is_told_on_every_level(db: Database) -> None:
    hands, run_id = deep(db)
    cancel(hands.engine, run_id, reason="wrong customer", actor="ada")
    with db.transaction() as conn:
        told = audited(conn, "cancel")
    assert [actor.split()[0] for actor, _, _ in told] == ["ada", "parent", "parent", "parent"]
    assert {why for _, _, why in told[1:]} == {"its parent was canceled: wrong customer"}


def test_a_child_that_is_canceled_by_itself_fails_its_step_for_good(db: Database) -> None:
    hands = Hands(db)
    documents = levels("top", "low")
    documents[0]["steps"][0]["retry"] = {"max_attempts": 3}
    run_id = start_family(hands, *documents)
    for claimed in hands.claim():
        hands.settle(claimed)
    cancel(hands.engine, only_child(hands, run_id), reason="not needed")
    hands.work()
    row = hands.steps(run_id)["down"]
    assert (row["status"], row["attempts"], hands.status(run_id)) == ("failed", 1, "failed")
    assert row["error"]["type"] == "ChildCanceled"
    assert row["error"]["message"].endswith("was canceled: not needed")


def test_a_lifecycle_handlers_child_is_not_canceled_by_the_cancel_that_it_handles(db: Database) -> None:
    hands = Hands(db)
    parent = document(step("a"), name="top", on_cancel={"workflow": "low"})
    run_id = start_family(hands, parent, levels("low")[0])
    cancel(hands.engine, run_id)
    tick(hands.engine)
    hands.work()
    assert line(hands, run_id) == ["canceled", "succeeded"]
    assert hands.steps(run_id)["on_cancel"]["status"] == "succeeded"


def test_a_childs_own_handlers_end_after_a_forced_cancel_of_its_parent(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "low", on_cancel={"function": "ok"}))
    for claimed in hands.claim():
        hands.settle(claimed)
    cancel(hands.engine, run_id, force=True)
    tick(hands.engine)
    tick(hands.engine)
    hands.work()
    child = only_child(hands, run_id)
    assert (line(hands, run_id), hands.steps(child)["on_cancel"]["status"]) == (["canceled", "canceled"], "succeeded")


# Pause.


def test_a_pause_reaches_all_levels_with_its_reason_and_a_resume_too(db: Database) -> None:
    hands, run_id = deep(db)
    pause(hands.engine, run_id, reason="stock-taking")
    assert line(hands, run_id) == ["paused"] * 4
    assert column(hands, lowest(hands, run_id), "pause_reason") == "its parent is paused: stock-taking"
    tick(hands.engine)
    assert hands.claim() == []
    resume(hands.engine, run_id)
    assert line(hands, run_id) == ["running"] * 4
    hands.work()
    assert line(hands, run_id) == ["succeeded"] * 4


def test_a_child_that_was_paused_before_its_parent_stays_so_when_that_is_resumed(db: Database) -> None:
    hands, run_id = deep(db, "top", "second", "low")
    second = only_child(hands, run_id)
    pause(hands.engine, second, reason="by itself")
    pause(hands.engine, run_id)
    resume(hands.engine, run_id)
    tick(hands.engine)
    assert line(hands, run_id) == ["running", "paused", "paused"]
    assert column(hands, second, "pause_reason") == "by itself"
    resume(hands.engine, second)
    hands.work()
    assert line(hands, run_id) == ["succeeded"] * 3


def test_a_child_of_a_paused_parent_cannot_be_resumed_by_itself(db: Database) -> None:
    hands, run_id = deep(db, "top", "low")
    pause(hands.engine, run_id)
    with pytest.raises(Conflict, match=f"resume {run_id}"):
        resume(hands.engine, only_child(hands, run_id))


def test_a_child_that_starts_as_its_parent_is_paused_is_paused_with_it(db: Database) -> None:
    hands = Hands(db)
    run_id = start_family(hands, *levels("top", "low"))
    done = [hands.perform(claimed) for claimed in hands.claim()]
    pause(hands.engine, run_id)
    hands.settle_all(done)
    assert (line(hands, run_id), hands.claim()) == (["paused", "paused"], [])
    resume(hands.engine, run_id)
    hands.work()
    assert line(hands, run_id) == ["succeeded", "succeeded"]


def test_a_paused_family_can_be_canceled(db: Database) -> None:
    hands, run_id = deep(db)
    pause(hands.engine, run_id)
    cancel(hands.engine, run_id)
    hands.work()
    assert line(hands, run_id) == ["canceled"] * 4


# Deadlines.


def sleepy(*names: str, **keys: Any) -> list[dict[str, Any]]:
    return levels(*names, leaf={"name": "leaf", "sleep": 1000}, **keys)


def test_the_deadline_of_the_parent_ends_all_below_it() -> None:
    first, *others = sleepy("top", "middle", "low")
    done = testing.run(first | {"timeout": 60}, workflows=others)
    assert (done.status, (done.error or {})["type"]) == ("failed", "DeadlineExceeded")
    assert done.duration.total_seconds() == 60
    (middle,) = done.children
    assert (middle.status, middle.children[0].status) == ("canceled", "canceled")
    assert middle.children[0].steps["leaf"].status == "canceled"


def test_a_childs_own_deadline_fails_its_parents_step_with_it() -> None:
    first, last = sleepy("top", "low")
    done = testing.run(first, workflows=[last | {"timeout": 60}])
    assert (done.status, (done.error or {})["type"], done.duration.total_seconds()) == (
        "failed",
        "DeadlineExceeded",
        60,
    )
    assert done.children[0].status == "failed"


def test_the_timeout_of_the_step_ends_its_child_and_its_next_attempt_has_another() -> None:
    first, last = sleepy("top", "low")
    first["steps"][0] |= {"timeout": 60, "retry": {"max_attempts": 2}}
    done = testing.run(first, workflows=[last])
    assert (done.steps["down"].reason, done.steps["down"].attempts) == ("timeout", 2)
    assert [child.status for child in done.children] == ["canceled", "canceled"]
    assert done.duration.total_seconds() == 120


def test_the_total_timeout_of_the_step_ends_its_child() -> None:
    first, last = sleepy("top", "low")
    first["steps"][0] |= {"total_timeout": 60}
    done = testing.run(first, workflows=[last])
    assert (done.steps["down"].reason, done.children[0].status) == ("total_timeout", "canceled")


# Failures elsewhere in the parent.


def halted(mode: dict[str, Any], **failing: Any) -> testing.RunResult:
    """A parent whose step `bad` fails after 5 s, while the child of its step `down` sleeps for 20."""
    bad = {"name": "bad", "function": "fail", "depends_on": "first", **failing}
    parent = document(below("down", "low"), {"name": "first", "sleep": 5}, bad, name="top", **mode)
    child = document({"name": "leaf", "sleep": 20}, step("more", "leaf"), name="low")
    return testing.run(parent, functions=FUNCTIONS, workflows=[child])


@pytest.mark.parametrize(
    ("mode", "failing", "seconds", "child"),
    [
        ({}, {"on_error": "abort"}, 5, "canceled"),
        ({"failure_mode": "cancel"}, {}, 5, "canceled"),
        ({"failure_mode": "drain"}, {}, 20, "succeeded"),
        ({"failure_mode": "run_on"}, {}, 20, "succeeded"),
    ],
)
def test_a_failure_elsewhere_ends_the_child_as_it_would_a_running_step(
    mode: dict[str, Any], failing: dict[str, Any], seconds: float, child: str
) -> None:
    done = halted(mode, **failing)
    assert (done.status, done.children[0].status, done.duration.total_seconds()) == ("failed", child, seconds)


def test_a_drained_run_starts_no_other_child_when_one_fails() -> None:
    bad = {"name": "bad", "function": "fail", "depends_on": "first"}
    down = below("down", "low", retry={"max_attempts": 3})
    parent = document(down, {"name": "first", "sleep": 5}, bad, name="top", failure_mode="drain")
    child = document({"name": "leaf", "sleep": 20}, step("more", "leaf", function="fail"), name="low")
    done = testing.run(parent, functions=FUNCTIONS, workflows=[child])
    assert (done.status, [one.status for one in done.children]) == ("failed", ["failed"])


def test_a_step_that_is_marked_while_it_waits_lets_its_child_end(db: Database) -> None:
    hands, run_id = deep(db, "top", "second", "low")
    mark(hands.engine, run_id, "down", StepStatus.SUCCEEDED, output=5)
    hands.work()
    assert line(hands, run_id) == ["succeeded", "canceled", "canceled"]
    assert column(hands, only_child(hands, run_id), "cancel_reason") == "step 'down' of its parent is succeeded"


# What a crash leaves.


def alter(db: Database, statement: str, **values: Any) -> None:
    with db.transaction() as conn:
        conn.execute(text(statement), values)


def test_a_parent_that_nobody_told_of_its_childs_end_is_told_by_the_coordinator(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands, run_id = deep(db, "top", "low")
    with monkeypatch.context() as killed:
        for place in ("settle_all", "halt"):
            killed.setattr(f"orchestrator.services.{place}.tell_parent", lambda engine, run_id: frozenset())
        hands.work()
    assert line(hands, run_id) == ["running", "succeeded"]
    tick(hands.engine)
    hands.work()
    assert line(hands, run_id) == ["succeeded", "succeeded"]
    assert hands.steps(run_id)["down"]["attempts"] == 1


@pytest.mark.parametrize("force", [False, True])
def test_a_cancel_that_died_on_its_way_down_is_carried_on_by_the_coordinator(
    db: Database, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    hands, run_id = deep(db)
    hands.claim()
    with monkeypatch.context() as killed:
        killed.setattr("orchestrator.services.cancel.pass_down", lambda engine, run_id: frozenset())
        cancel(hands.engine, run_id, force=force)
    assert line(hands, run_id)[1:] == ["running"] * 3
    tick(hands.engine)
    assert line(hands, run_id)[1:] == ["canceled" if force else "canceling"] * 3


def test_a_pause_and_a_resume_that_died_on_their_way_down_are_carried_on(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands, run_id = deep(db)
    monkeypatch.setattr("orchestrator.services.pause.pass_down", lambda engine, run_id: frozenset())
    for act, status in ((pause, "paused"), (resume, "running")):
        act(hands.engine, run_id)
        tick(hands.engine)
        assert line(hands, run_id) == [status] * 4


def test_an_orphan_is_found_and_ended_whatever_became_of_its_parent(db: Database) -> None:
    hands, run_id = deep(db, "top", "second", "low")
    second = only_child(hands, run_id)
    low = only_child(hands, second)
    alter(db, "DELETE FROM workflow_runs WHERE id = :id", id=run_id)
    tick(hands.engine)
    hands.work()
    assert [hands.status(second), hands.status(low)] == ["canceled", "canceled"]
    assert column(hands, second, "cancel_reason") == "its parent is gone"


def test_children_are_looked_at_in_portions(db: Database) -> None:
    hands = Hands(db)
    fan = document(*(below(f"s{n}", "low") for n in range(7)), name="fan")
    run_id = start_family(hands, fan, levels("low", leaf={"name": "leaf", "wait_for": {"event": "never"}})[0])
    hands.work()
    alter(db, "DELETE FROM workflow_runs WHERE id = :id", id=run_id)
    object.__setattr__(hands.engine.settings, "batch", 3)
    for left in (4, 1, 0, 0):
        tick(hands.engine)
        with db.transaction() as conn:
            found = conn.execute(text("SELECT count(*) FROM workflow_runs WHERE status <> 'canceled'")).scalar_one()
        assert found == left
