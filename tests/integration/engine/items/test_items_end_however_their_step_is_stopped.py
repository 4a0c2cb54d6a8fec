"""Failures under a limit, fail_fast, cancels, halts, pauses, lost workers: always an end, and the right one."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.items import is_item
from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.domain.states import StepStatus
from orchestrator.functions import make_spec
from orchestrator.services import stop_items
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed
from orchestrator.services.coordinate import tick
from orchestrator.services.dispatch import dispatch
from orchestrator.services.kinds import items as kind
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.pools import set_pool
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.services.settle_all import Done, settle_all
from orchestrator.store import item_rows
from orchestrator.store.db import Database
from tests.documents import Document, document, step
from tests.hands import Hands, together
from tests.integration.engine.items.counts import check_items, items_of, statuses

FAILED = Outcome.failed(ErrorInfo("ValueError", "no", classes=("ValueError",)), final=True)
LOST = Outcome.lost("its worker died")
DONE = Outcome.succeeded(1, "1")


def each(items: Any = "{{ input.xs }}", keys: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return step("each", with_items={"items": items, **options}, input={"x": "{{ item }}"}, **(keys or {}))


def start(hands: Hands, made: Document, count: int) -> str:
    """A run whose items, as many as may begin, were sent."""
    run_id = hands.start(made, {"xs": list(range(count))})
    for claimed in hands.claim():
        hands.settle(claimed)
    return run_id


def sent(hands: Hands) -> list[Claimed]:
    """The items that were sent, in order; what else was sent on the way to them is done."""
    while claimed := hands.claim():
        for one in claimed:
            if not is_item(one.position):
                hands.settle(one)
        items = [one for one in claimed if is_item(one.position)]
        if items:
            return sorted(items, key=lambda one: one.position)
    tick(hands.engine)  # more may be ready than was sent
    return sent(hands) if hands.outbox.messages else []


def together_settled(hands: Hands, claimed: list[Claimed], outcome: Outcome = DONE) -> None:
    dispatch(hands.engine, settle_all(hands.engine, [Done(one, outcome) for one in claimed]).queues)


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db)


def ends(hands: Hands, run_id: str) -> dict[str, str]:
    return {name: row["status"] for name, row in hands.steps(run_id).items()}


def work_all(hands: Hands, run_id: str) -> None:
    """Work and let the coordinator look, until the run is over."""
    for _ in range(50):
        hands.work()
        check_items(hands.db, run_id)
        if hands.status(run_id) in ("succeeded", "failed", "canceled"):
            return
        tick(hands.engine)
    raise AssertionError(f"the run hangs: {ends(hands, run_id)}, items {statuses(hands.db, run_id)}")


# Concurrency.


def test_so_many_items_are_under_way_at_a_time(hands: Hands) -> None:
    run_id = start(hands, document(each(concurrency=3)), 10)
    done = 0
    while claimed := sent(hands):
        assert len(claimed) == min(3, 10 - done)
        check_items(hands.db, run_id, 3)
        together_settled(hands, claimed) if done % 2 else [hands.settle(one) for one in claimed]
        done += len(claimed)
    assert hands.status(run_id) == "succeeded"
    check_items(hands.db, run_id, 3)


@pytest.mark.parametrize("failing", range(10))
def test_a_failure_under_a_limit_always_comes_to_an_end(hands: Hands, failing: int) -> None:
    for limit in (1, 2, 3, 4, 10):
        run_id = start(hands, document(each(concurrency=limit), step("after", "each", trigger_rule="all_done")), 10)
        claimed = sent(hands)
        while claimed:
            for one in claimed:
                check_items(hands.db, run_id, limit)
                hands.settle(one, FAILED if one.position % 16 == failing else None)
            claimed = sent(hands)
        counts = check_items(hands.db, run_id, limit)
        assert (counts["failed"], counts["succeeded"]) == (1, 9)
        assert ends(hands, run_id) == {"each": "failed", "after": "succeeded"}
        assert hands.status(run_id) == "failed"


def test_a_join_of_all_ends_waits_for_all_ten_although_the_first_failed(hands: Hands) -> None:
    run_id = start(hands, document(each(), step("join", "each", trigger_rule="all_done")), 10)
    first, *others = sent(hands)
    hands.settle(first, FAILED)
    for one in others:
        assert ends(hands, run_id)["join"] == "pending"
        hands.settle(one)
    hands.work()
    assert ends(hands, run_id) == {"each": "failed", "join": "succeeded"}


def test_thousands_of_items_are_joined_once(hands: Hands) -> None:
    run_id = start(hands, document(each(), step("join", "each")), 6000)
    while claimed := sent(hands):
        together_settled(hands, claimed)
    assert hands.status(run_id) == "succeeded"
    assert check_items(hands.db, run_id) == {"succeeded": 6000}
    (join,) = [row for name, row in hands.steps(run_id).items() if name == "join"]
    assert [attempt["outcome"] for attempt in join["history"]] == ["succeeded"]
    assert hands.steps(run_id)["each"]["output"] == [1] * 6000


def test_items_of_several_steps_and_runs_are_settled_together(hands: Hands) -> None:
    made = document(each(), step("other", with_items=[1, 2, 3]), step("plain"), step("join", "each", "other", "plain"))
    runs = [hands.start(made, {"xs": [1, 2]}) for _ in range(2)]
    while claimed := sent(hands):
        dispatch(hands.engine, settle_all(hands.engine, [hands.perform(one) for one in claimed]).queues)
    for run_id in runs:
        assert set(ends(hands, run_id).values()) == {"succeeded"}
        assert hands.steps(run_id)["other"]["output"] == [{}] * 3


# Fail fast.


def test_the_others_are_canceled_once_the_step_is_certain_to_fail(hands: Hands) -> None:
    run_id = start(hands, document(each(fail_fast=True, max_failures=1, concurrency=4)), 8)
    first, second, third, fourth = sent(hands)
    hands.settle(first, FAILED)
    assert "canceled" not in statuses(hands.db, run_id)
    hands.settle(second, FAILED)
    assert hands.settle(third).stale
    hands.work()
    assert hands.status(run_id) == "failed"
    assert statuses(hands.db, run_id) == ["failed", "failed", *["canceled"] * 6]
    assert {row.reason for row in items_of(hands.db, run_id)} == {"error", "fail_fast"}
    message = hands.steps(run_id)["each"]["error"]["message"]
    assert message == "2 of 8 items failed, 6 were canceled (1 may fail); first item 0: ValueError: no"
    check_items(hands.db, run_id)


def test_a_stop_that_was_noted_is_carried_out_by_the_coordinator(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = start(hands, document(each(fail_fast=True)), 4)
    monkeypatch.setattr("orchestrator.services.settle.stop_items", lambda *_: frozenset())
    hands.settle(sent(hands)[0], FAILED)
    assert statuses(hands.db, run_id).count("running") == 3
    tick(hands.engine)
    assert statuses(hands.db, run_id) == ["failed", *["canceled"] * 3]
    hands.work()
    assert hands.status(run_id) == "failed"


def test_a_failure_while_rows_are_still_made_stops_that_too(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "_SECONDS", 0.0)
    run_id = hands.start(document(each(fail_fast=True)), {"xs": list(range(1000))})
    hands.settle(hands.claim()[0])
    first, *others = sent(hands)
    hands.settle(first, FAILED)
    for one in others:
        hands.settle(one)
    work_all(hands, run_id)
    assert 0 < len(statuses(hands.db, run_id)) < 1000
    assert hands.status(run_id) == "failed"
    assert retry(hands.engine, run_id) == 1
    work_all(hands, run_id)
    assert hands.status(run_id) == "succeeded"
    assert statuses(hands.db, run_id) == ["succeeded"] * 1000


# Workers that die.


def test_a_worker_that_dies_while_rows_are_made_leaves_what_another_goes_on_with(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = hands.start(document(each()), {"xs": list(range(250))})
    (owner,) = hands.claim()
    monkeypatch.setattr(kind, "_PORTIONS", (100, 100))
    made = kind.item_rows.make_items
    calls: list[int] = []

    def dies(*args: Any) -> Any:
        if len(calls) == 2:
            raise SystemExit
        calls.append(1)
        return made(*args)

    monkeypatch.setattr(item_rows, "make_items", dies)
    with pytest.raises(SystemExit):
        hands.perform(owner)
    monkeypatch.undo()
    assert len(statuses(hands.db, run_id)) == 200
    hands.settle(owner, LOST)
    work_all(hands, run_id)
    assert hands.steps(run_id)["each"]["output"] == [{"x": x} for x in range(250)]
    assert hands.steps(run_id)["each"]["attempts"] == 2


def test_lost_and_poisonous_items_are_judged_by_themselves(hands: Hands) -> None:
    run_id = start(hands, document(each(max_failures=1)), 3)
    for _ in range(3):
        for one in sent(hands):
            hands.settle(one, LOST if one.position % 16 == 1 else None)
    work_all(hands, run_id)
    assert [(row.status, row.reason) for row in items_of(hands.db, run_id)] == [
        ("succeeded", None),
        ("failed", "poison"),
        ("succeeded", None),
    ]
    assert hands.status(run_id) == "succeeded"


def test_a_step_lost_too_often_takes_its_items_with_it(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "_SECONDS", 0.0)
    run_id = hands.start(document(each()), {"xs": list(range(300))})
    claimed = hands.claim()
    hands.perform(claimed[0])
    running = sent(hands)
    for _ in range(3):
        for owner in claimed:
            hands.settle(owner, LOST)
        claimed = [one for one in hands.claim() if one.position == claimed[0].position]
    assert ends(hands, run_id)["each"] == "failed"
    assert (hands.status(run_id), set(statuses(hands.db, run_id))) == ("failed", {"canceled"})
    assert all(hands.settle(one).stale for one in running)
    check_items(hands.db, run_id)


def test_a_late_result_of_an_item_changes_nothing(hands: Hands) -> None:
    run_id = start(hands, document(each()), 2)
    first, second = sent(hands)
    hands.settle(first, LOST)
    assert hands.settle(first).stale
    check_items(hands.db, run_id)
    hands.settle(second)
    work_all(hands, run_id)
    assert hands.status(run_id) == "succeeded"


# Cancels, pauses, halts.


@pytest.mark.parametrize("force", [False, True])
def test_a_cancel_ends_items_under_way_as_it_says(hands: Hands, force: bool) -> None:
    run_id = start(hands, document(each(concurrency=2), step("after", "each")), 4)
    first, second = sent(hands)
    cancel(hands.engine, run_id, force=force)
    assert ends(hands, run_id) == {"each": "canceled", "after": "canceled"}
    assert hands.status(run_id) == ("canceled" if force else "canceling")
    assert hands.settle(first).stale is force
    hands.settle(second, FAILED)
    assert hands.status(run_id) == "canceled"
    begun = ["canceled", "canceled"] if force else ["succeeded", "failed"]
    assert statuses(hands.db, run_id) == [*begun, "canceled", "canceled"]
    check_items(hands.db, run_id)


@pytest.mark.parametrize("force", [False, True])
def test_a_cancel_while_rows_are_made_ends_that(hands: Hands, monkeypatch: pytest.MonkeyPatch, force: bool) -> None:
    run_id = hands.start(document(each()), {"xs": list(range(3000))})
    (owner,) = hands.claim()

    def dispatched(*_: Any) -> None:
        if len(items_of(hands.db, run_id)) == 1100:
            cancel(hands.engine, run_id, force=force)

    monkeypatch.setattr(kind, "dispatch", dispatched)
    done = hands.perform(owner)
    hands.settle_all([done])
    assert (hands.status(run_id), ends(hands, run_id)) == ("canceled", {"each": "canceled"})
    assert statuses(hands.db, run_id) == ["canceled"] * 1100
    check_items(hands.db, run_id)


def test_a_cancel_and_the_making_of_rows_at_once_never_leave_an_open_item(hands: Hands) -> None:
    for turn in range(20):
        run_id = hands.start(document(each(), name="race"), {"xs": list(range(400))})
        (owner,) = hands.claim()

        def make(owner: Claimed = owner) -> None:
            hands.settle_all([hands.perform(owner)])

        together([make, partial(cancel, hands.engine, run_id, force=turn % 2 == 0)])
        hands.outbox.take()
        tick(hands.engine)
        hands.work()
        assert (hands.status(run_id), ends(hands, run_id)) == ("canceled", {"each": "canceled"})
        check_items(hands.db, run_id)


def test_a_step_canceled_before_it_made_any_row_has_not_succeeded(hands: Hands) -> None:
    run_id = hands.start(document(each()), {"xs": [1, 2]})
    (owner,) = hands.claim()
    cancel(hands.engine, run_id)
    hands.settle(owner)
    assert (hands.status(run_id), ends(hands, run_id)) == ("canceled", {"each": "canceled"})
    assert retry(hands.engine, run_id) == 1
    work_all(hands, run_id)
    assert hands.steps(run_id)["each"]["output"] == [{"x": 1}, {"x": 2}]


def test_a_paused_run_begins_no_item_and_counts_those_that_end(hands: Hands) -> None:
    run_id = start(hands, document(each(concurrency=2)), 5)
    first, second = sent(hands)
    pause(hands.engine, run_id)
    hands.settle(first)
    together_settled(hands, [second])
    hands.work()
    assert statuses(hands.db, run_id) == ["succeeded", "succeeded", "ready", "ready", "pending"]
    resume(hands.engine, run_id)
    work_all(hands, run_id)
    assert hands.status(run_id) == "succeeded"


@pytest.mark.parametrize("mode", ["drain", "cancel"])
def test_a_failure_elsewhere_stops_items_as_the_workflow_says(hands: Hands, mode: str) -> None:
    made = document(each(concurrency=2), step("bad", function="fail"), failure_mode=mode)
    run_id = hands.start(made, {"xs": [1, 2, 3]})
    by_step = {one.position: one for one in hands.claim()}
    bad = next(p for p, one in by_step.items() if hands.engine.plan(one.revision_id).at(p).name == "bad")
    hands.settle(by_step.pop(bad + 1 if bad == 0 else 0))
    running = sent(hands)
    hands.settle(by_step[bad])
    if mode == "drain":
        assert hands.status(run_id) == "running"
        assert [hands.settle(one).stale for one in running] == [False, False]
        assert statuses(hands.db, run_id) == ["succeeded", "succeeded", "canceled"]
        assert {row.reason for row in items_of(hands.db, run_id)} == {None, "drain"}
    else:
        assert statuses(hands.db, run_id) == ["canceled"] * 3
    assert (hands.status(run_id), ends(hands, run_id)["each"]) == ("failed", "canceled")
    check_items(hands.db, run_id)


def test_a_drain_lets_a_step_whose_items_all_run_come_to_its_end(hands: Hands) -> None:
    made = document(each(), step("bad", function="fail"), failure_mode="drain")
    run_id = hands.start(made, {"xs": [1, 2]})
    by_name = {hands.engine.plan(one.revision_id).at(one.position).name: one for one in hands.claim()}
    hands.settle(by_name["each"])
    running = sent(hands)
    hands.settle(by_name["bad"])
    for one in running:
        hands.settle(one)
    hands.work()
    assert (hands.status(run_id), ends(hands, run_id)["each"]) == ("failed", "succeeded")


@pytest.mark.parametrize("made_before", [False, True], ids=["claimed", "in line for more"])
def test_a_drain_cancels_a_step_that_has_not_made_all_its_items(
    hands: Hands, monkeypatch: pytest.MonkeyPatch, made_before: bool
) -> None:
    monkeypatch.setattr(kind, "_SECONDS", -1)  # one portion at a time
    made = document(each(), step("bad", function="fail"), failure_mode="drain")
    run_id = hands.start(made, {"xs": list(range(300))})
    by_name = {hands.engine.plan(one.revision_id).at(one.position).name: one for one in hands.claim()}
    under_way = [by_name["each"]]
    if made_before:
        hands.settle(under_way.pop())
        tick(hands.engine)
        under_way = hands.claim()
        assert len(under_way) == 100  # and the step stands in line behind them
    hands.settle(by_name["bad"])
    for one in under_way:
        hands.settle(one)
    work_all(hands, run_id)
    each_row = hands.steps(run_id)["each"]
    assert (hands.status(run_id), each_row["status"], each_row["reason"]) == ("failed", "canceled", "drain")
    assert statuses(hands.db, run_id) == ["succeeded"] * (100 if made_before else 0)


def test_a_run_past_its_deadline_ends_with_all_its_items(hands: Hands) -> None:
    run_id = start(hands, document(each(concurrency=1), timeout=60), 3)
    sent(hands)
    with hands.db.transaction() as conn:
        conn.execute(text("UPDATE workflow_runs SET deadline_at = now()"))
    tick(hands.engine)
    assert (hands.status(run_id), statuses(hands.db, run_id)) == ("failed", ["canceled"] * 3)


# An operator's retry.


def test_a_retry_runs_the_items_that_did_not_succeed_before_the_collector(hands: Hands) -> None:
    made = document(each(concurrency=3, keys={"on_lost": "fail"}), step("join", "each"))
    run_id = start(hands, made, 6)
    finished, running, other = sent(hands)
    hands.settle(finished)
    cancel(hands.engine, run_id)
    hands.settle(running, LOST)
    hands.settle(other, FAILED)
    assert hands.status(run_id) == "canceled"
    assert statuses(hands.db, run_id) == ["succeeded", "canceled", "failed", *["canceled"] * 3]
    assert retry(hands.engine, run_id) == 2
    seen = []
    while claimed := sent(hands):
        seen += [one.position % 16 for one in claimed]
        check_items(hands.db, run_id, 3)
        for one in claimed:
            hands.settle(one)
    assert seen == [1, 2, 3, 4, 5]
    assert (hands.status(run_id), check_items(hands.db, run_id, 3)) == ("succeeded", {"succeeded": 6})
    assert hands.steps(run_id)["each"]["output"] == [{"x": x} for x in range(6)]
    assert [row.attempt for row in items_of(hands.db, run_id)] == [1, 2, 2, 1, 1, 1]


def test_a_retry_gives_failed_items_all_their_attempts_anew(hands: Hands) -> None:
    run_id = start(hands, document(each(keys={"retry": {"max_attempts": 2}})), 2)
    for _ in range(2):
        for one in sent(hands):
            hands.settle(one, Outcome.failed(ErrorInfo("E", "no")) if one.position % 16 else None)
    work_all(hands, run_id)
    retry(hands.engine, run_id)
    (again,) = sent(hands)
    hands.settle(again, Outcome.failed(ErrorInfo("E", "no")))
    work_all(hands, run_id)
    assert (hands.status(run_id), [row.attempt for row in items_of(hands.db, run_id)]) == ("succeeded", [1, 4])


def test_a_retry_that_opens_a_source_too_expands_anew(hands: Hands) -> None:
    made = document(
        step("list", function="fail", on_error="continue"),
        each(items="{{ steps.list.output or [1, 2] }}", keys={"depends_on": ["list"]}),
    )
    run_id = hands.start(made)
    for one in sent(hands):
        hands.settle(one, FAILED)
    hands.work()
    assert (hands.status(run_id), len(statuses(hands.db, run_id))) == ("failed", 2)
    assert retry(hands.engine, run_id) == 2
    assert statuses(hands.db, run_id) == []
    (source,) = hands.claim()
    hands.settle(source, Outcome.succeeded([7, 8, 9], "[7,8,9]"))
    work_all(hands, run_id)
    assert hands.steps(run_id)["each"]["output"] == [{"x": 7}, {"x": 8}, {"x": 9}]


def test_a_step_that_was_undone_runs_all_its_items_anew(hands: Hands) -> None:
    undo = {"compensate": {"function": "ok"}}
    run_id = start(hands, document(each(keys=undo), step("bad", "each", function="fail")), 2)
    work_all(hands, run_id)
    assert (hands.status(run_id), statuses(hands.db, run_id)) == ("failed", ["succeeded"] * 2)
    assert retry(hands.engine, run_id) == 2
    assert statuses(hands.db, run_id) == []
    work_all(hands, run_id)
    assert statuses(hands.db, run_id) == ["succeeded"] * 2


# An operator's mark, and a rerun.


@pytest.mark.parametrize("status", [StepStatus.SUCCEEDED, StepStatus.SKIPPED])
def test_a_step_that_is_marked_stops_its_items(hands: Hands, status: StepStatus) -> None:
    run_id = start(hands, document(each(concurrency=2)), 5)
    running = sent(hands)
    hands.settle(running.pop())
    mark(hands.engine, run_id, "each", status, output=[1] if status is StepStatus.SUCCEEDED else None)
    assert (hands.status(run_id), ends(hands, run_id)) == ("succeeded", {"each": status.value})
    assert sorted(statuses(hands.db, run_id)) == ["canceled"] * 4 + ["succeeded"]
    assert hands.settle(running[0]).stale
    check_items(hands.db, run_id)


def test_a_rerun_from_behind_the_step_keeps_its_list_and_its_counts(hands: Hands) -> None:
    join = step("join", "each", input={"n": "{{ steps.each.output }}", "all": "{{ steps.each.items.succeeded }}"})
    run_id = start(hands, document(each(), join), 2)
    work_all(hands, run_id)
    again = rerun(hands.engine, run_id, from_steps="join").run_id
    work_all(hands, again)
    assert hands.steps(again)["join"]["output"] == {"n": [{"x": 0}, {"x": 1}], "all": 2}
    assert statuses(hands.db, again) == []
    whole = rerun(hands.engine, run_id).run_id
    work_all(hands, whole)
    assert statuses(hands.db, whole) == ["succeeded"] * 2


# Pools and kept results.


def test_each_item_takes_slots_of_a_pool_and_its_step_none(hands: Hands) -> None:
    set_pool(hands.engine, "gpu", 3, actor="test")
    run_id = hands.start(document(each(keys={"pool": "gpu", "slots": 2})), {"xs": [1, 2, 3]})
    done = []
    while claimed := sent(hands):
        assert len(claimed) == 1
        done += claimed
        hands.settle(claimed[0])
    assert (len(done), hands.status(run_id)) == (3, "succeeded")


def test_results_of_items_are_kept_and_used_again(hands: Hands) -> None:
    made = document(each(keys={"cache": {"key": "{{ item }}", "ttl": 60}}))
    for xs, reasons in (([1, 2], [None, None]), ([2, 3], ["cached", None])):
        run_id = hands.start(made, {"xs": xs})
        work_all(hands, run_id)
        assert [row.reason for row in items_of(hands.db, run_id)] == reasons
        assert hands.steps(run_id)["each"]["output"] == [{"x": x} for x in xs]


@pytest.mark.parametrize("force", [False, True])
def test_items_that_wait_for_their_turn_end_with_a_cancel(hands: Hands, force: bool) -> None:
    hands.engine.functions.put(make_spec(lambda x: x, "rare", rate="1/h"))
    run_id = start(hands, document(each(keys={"function": "rare"})), 3)
    hands.work()
    assert sorted(statuses(hands.db, run_id)) == ["succeeded", "waiting", "waiting"]
    check_items(hands.db, run_id)
    cancel(hands.engine, run_id, force=force)
    assert hands.status(run_id) == "canceled"
    assert sorted(statuses(hands.db, run_id)) == ["canceled", "canceled", "succeeded"]
    check_items(hands.db, run_id)


# Together.


def test_items_that_end_at_one_moment_wake_their_step_once(hands: Hands) -> None:
    for turn in range(20):
        run_id = start(hands, document(each(concurrency=4), name="race"), 8)
        while claimed := sent(hands):
            outcomes = [FAILED if turn % 3 == 0 and i == 1 else DONE for i, _ in enumerate(claimed)]
            together([partial(together_settled, hands, [o], r) for o, r in zip(claimed, outcomes, strict=True)])
            check_items(hands.db, run_id, 4)
        tick(hands.engine)
        work_all(hands, run_id)
        row = hands.steps(run_id)["each"]
        assert row["status"] == ("failed" if turn % 3 == 0 else "succeeded")
        assert len(row["history"]) == 1


def test_ends_stops_and_cancels_at_once_never_deadlock(hands: Hands) -> None:
    for turn in range(30):
        run_id = start(hands, document(each(concurrency=5, fail_fast=True), step("after", "each"), name="race"), 12)
        claimed = sent(hands)
        acts = [partial(together_settled, hands, [one], FAILED if i == 1 else DONE) for i, one in enumerate(claimed)]
        acts.append(partial(cancel, hands.engine, run_id, force=turn % 2 == 0))
        together([*acts, partial(tick, hands.engine)])
        work_all(hands, run_id)
        assert hands.status(run_id) == "canceled"
        assert StepStatus(ends(hands, run_id)["each"]).terminal


def test_nothing_to_stop_is_no_harm(hands: Hands) -> None:
    run_id = start(hands, document(each()), 1)
    assert stop_items.stop_items(hands.engine, run_id, 0) == frozenset()
