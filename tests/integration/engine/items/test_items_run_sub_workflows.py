"""Each item of a step may run a workflow of its own: its child lives and ends with it (docs/adr/0017, 0018)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.domain.states import StepStatus
from orchestrator.services import stop_items
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Settings
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.retry import retry
from orchestrator.store.db import Database
from orchestrator.store.reads import get_item, get_run, list_family, list_items, list_runs
from orchestrator.store.reads.runs import RunFilters
from tests.documents import Document, document, step
from tests.families import children_of, column, levels, start_family, unwatched
from tests.hands import SUCCESS, Hands
from tests.integration.engine.items.counts import check_items, items_of, statuses

LOW = document(
    step("leaf", function="tenfold", input={"x": "{{ input.x }}"}), name="low", output="{{ steps.leaf.output }}"
)
FAILED = Outcome.failed(ErrorInfo("ValueError", "no", classes=("ValueError",)), final=True)
broken: set[int] = set()


def tenfold(x: int) -> int:
    if x in broken:
        raise ValueError(f"{x} is broken")
    return x * 10


@pytest.fixture(autouse=True)
def nothing_is_broken() -> None:
    broken.clear()


@pytest.fixture
def hands(module_db: Database) -> Hands:
    return Hands(module_db, {"tenfold": tenfold})


def each(workflow: str = "low", keys: dict[str, Any] | None = None, **items: Any) -> dict[str, Any]:
    asked = {"items": "{{ input.xs }}", **items}
    return {"name": "each", "workflow": workflow, "with_items": asked, "input": {"x": "{{ item }}"}, **(keys or {})}


def top(*others: dict[str, Any], workflow: str = "low", keys: dict[str, Any] | None = None, **items: Any) -> Document:
    return document(each(workflow, keys, **items), *others, name="top")


def start(hands: Hands, made: Document, count: int, *lower: Document) -> str:
    """A run whose items have started as many children as may be under way, none of which has begun."""
    run_id = start_family(hands, made, *(lower or (LOW,)), input={"xs": list(range(count))})
    for _ in range(2):
        for claimed in hands.claim():
            hands.settle(claimed)
    return run_id


def work_all(hands: Hands, run_id: str) -> str:
    """Work and let the coordinator look, until the run is over; its status."""
    for _ in range(20):
        hands.work()
        check_items(hands.db, run_id)
        if hands.status(run_id) in ("succeeded", "failed", "canceled"):
            tick(hands.engine)
            hands.work()
            assert unwatched(hands) == []
            return hands.status(run_id)
        tick(hands.engine)
    raise AssertionError(f"the run hangs: {statuses(hands.db, run_id)}")


def below(hands: Hands, run_id: str) -> list[str]:
    return [hands.status(child) for child in children_of(hands, run_id)]


# What they give.


def test_the_output_is_what_the_children_gave_in_the_order_of_the_items(hands: Hands) -> None:
    other = document(
        {"name": "p", "pass": True, "input": "other {{ input.x }}"}, name="other", output="{{ steps.p.output }}"
    )
    made = top(workflow="{{ 'other' if item == 2 or index == 0 else 'low' }}")
    run_id = start_family(hands, made, LOW, other, input={"xs": [7, 1, 2, 3]})
    hands.work()
    assert hands.steps(run_id)["each"]["output"] == ["other 7", 10, "other 2", 30]
    with hands.db.transaction() as conn:
        names = [run["workflow"] for run in list_family(conn, run_id, 10)[0][1:]]
    assert sorted(names) == ["low", "low", "other", "other"]


def test_item_and_child_know_each_other(hands: Hands) -> None:
    run_id = start(hands, top(), 3)
    hands.work()
    with hands.db.transaction() as conn:
        items = list_items(conn, run_id, "each").items
        for item in items:
            view = get_run(conn, item["child_run_id"])
            told = (view["parent_run_id"], view["parent_step"], view["parent_item"], view["depth"], view["input"])
            assert told == (run_id, "each", item["index"], 1, {"x": item["index"]})
            assert get_item(conn, run_id, "each", item["index"]) == item
            assert item["input"] == {"x": item["index"]}
        assert {run["item"] for run in list_family(conn, run_id, 10)[0]} == {None, 0, 1, 2}
        assert len(list_runs(conn, RunFilters(children_of=run_id)).items) == 3


def test_a_map_and_batches_are_items_too(hands: Hands) -> None:
    keyed = document({"name": "p", "pass": True, "input": "{{ input.x }}"}, name="low")
    run_id = start_family(hands, top(), keyed, input={"xs": {"a": 1, "b": 2}})
    batched = start_family(hands, top(batch_size=2), keyed, input={"xs": [1, 2, 3]})
    hands.work()
    assert hands.steps(run_id)["each"]["output"] == [{"p": {"key": "a", "value": 1}}, {"p": {"key": "b", "value": 2}}]
    assert hands.steps(batched)["each"]["output"] == [{"p": [1, 2]}, {"p": [3]}]


def test_no_items_start_no_child(hands: Hands) -> None:
    run_id = start(hands, top(), 0)
    assert (work_all(hands, run_id), children_of(hands, run_id)) == ("succeeded", [])
    assert hands.steps(run_id)["each"]["output"] == []


def test_so_many_children_are_under_way_at_a_time_and_none_holds_a_worker(hands: Hands) -> None:
    run_id = start(hands, top(concurrency=2), 5)
    seen = []
    while leaves := hands.claim():
        open_runs = [status for status in below(hands, run_id) if status == "running"]
        seen.append(len(open_runs))
        check_items(hands.db, run_id, 2)
        assert [row.lease_expires_at for row in items_of(hands.db, run_id) if row.status == "waiting"] == [None] * seen[
            -1
        ]
        for leaf in leaves:
            hands.settle(leaf)
        for _ in range(2):  # the halves of items; then the children's leaves wait
            waiting, leaves = hands.outbox.take(), []
            for claimed in hands.claim([one for one in waiting if not is_leaf(hands, one.step_id)]):
                hands.settle(claimed)
            hands.outbox.messages += [one for one in waiting if is_leaf(hands, one.step_id)]
    assert (max(seen), work_all(hands, run_id), len(below(hands, run_id))) == (2, "succeeded", 5)


def is_leaf(hands: Hands, step_id: str) -> bool:
    with hands.db.transaction() as conn:
        named = text("SELECT name = 'leaf' FROM workflow_run_steps WHERE id = :id")
        return bool(conn.execute(named, {"id": step_id}).scalar())


def test_a_child_that_ends_as_it_starts_ends_its_item_at_once() -> None:
    at_once = document({"name": "p", "pass": True, "input": "{{ input.x }}"}, name="low", output="{{ steps.p.output }}")
    result = testing.run(top(), {"xs": [1, 2, 3]}, workflows=[at_once])
    assert (result.output, result.duration.total_seconds()) == ({"each": [1, 2, 3]}, 0)


def test_children_of_items_may_have_items_that_have_children() -> None:
    middle = top() | {"name": "middle"}
    made = document(
        {"name": "all", "workflow": "middle", "with_items": [[1, 2], [], [3]], "input": {"xs": "{{ item }}"}}
    )
    result = testing.run(made, functions={"tenfold": tenfold}, workflows=[middle, LOW])
    assert result.output == {"all": [{"each": [10, 20]}, {"each": []}, {"each": [30]}]}
    assert [child.depth for family in result.children for child in (family, *family.children)] == [1, 2, 2, 1, 1, 2]


def test_an_item_too_deep_fails_cleanly() -> None:
    made = document(
        {"name": "again", "workflow": "w", "with_items": "{{ input.xs }}", "input": {"xs": "{{ input.xs }}"}}
    )
    result = testing.run(made, {"xs": [1]}, settings=Settings(max_depth=3))
    assert "DepthExceeded: this run lies 3 deep" in (result.error or {})["message"]


# Failures.


def test_a_failed_child_fails_its_item_with_its_error_and_the_step_as_it_says(hands: Hands) -> None:
    broken.add(1)
    run_id = start(hands, top(), 3)
    assert work_all(hands, run_id) == "failed"
    error = hands.steps(run_id)["each"]["error"]
    child = children_of(hands, run_id)[1]
    assert error["message"] == (
        f"1 of 3 items failed; first item 1: ValueError: 1 is broken (step 'leaf' of run {child} of 'low')"
    )
    allowed = start(hands, top(max_failures=1), 3)
    assert work_all(hands, allowed) == "succeeded"
    assert hands.steps(allowed)["each"]["output"] == [0, None, 20]


def test_fail_fast_ends_the_children_of_the_others(hands: Hands) -> None:
    run_id = start(hands, top(fail_fast=True), 4)
    leaf, *others = hands.claim()
    hands.settle(leaf, FAILED)
    hands.work()
    assert (hands.status(run_id), sorted(below(hands, run_id))) == ("failed", ["canceled"] * 3 + ["failed"])
    assert all(hands.settle(late, SUCCESS).stale for late in others)
    assert sorted(row.reason for row in items_of(hands.db, run_id)) == ["error", *["fail_fast"] * 3]
    assert "item" in column(hands, children_of(hands, run_id)[3], "cancel_reason")
    assert work_all(hands, run_id) == "failed"


def test_an_items_retry_starts_a_new_child() -> None:
    tries: list[int] = []

    def flaky(x: int) -> int:
        tries.append(x)
        if x == 1 and tries.count(1) < 3:
            raise RuntimeError("not yet")
        return x

    made = top(keys={"retry": {"max_attempts": 3, "delay": 10}})
    result = testing.run(made, {"xs": [1, 2]}, {"tenfold": flaky}, workflows=[LOW])
    assert (result.output, result.duration.total_seconds()) == ({"each": [1, 2]}, 20)
    assert [child.status for child in result.children] == ["failed", "succeeded", "failed", "succeeded"]
    assert [item.attempts for item in result.steps["each"].items] == [3, 1]


def test_an_operators_retry_goes_on_with_the_failed_children_and_no_others(hands: Hands) -> None:
    broken.update({1, 3})
    run_id = start(hands, top(step("after", "each")), 5)
    assert work_all(hands, run_id) == "failed"
    children = children_of(hands, run_id)
    broken.clear()
    assert retry(hands.engine, run_id) == 2
    assert work_all(hands, run_id) == "succeeded"
    assert children_of(hands, run_id) == children
    assert [hands.steps(child)["leaf"]["attempts"] for child in children] == [1, 2, 1, 2, 1]
    assert [row.attempt for row in items_of(hands.db, run_id)] == [1, 2, 1, 2, 1]
    assert hands.steps(run_id)["each"]["output"] == [0, 10, 20, 30, 40]


def test_an_operators_retry_runs_what_a_cancel_left(hands: Hands) -> None:
    run_id = start(hands, top(concurrency=2), 4)
    cancel(hands.engine, run_id, force=True)
    assert work_all(hands, run_id) == "canceled"
    assert below(hands, run_id) == ["canceled"] * 2
    retry(hands.engine, run_id)
    assert work_all(hands, run_id) == "succeeded"
    assert (below(hands, run_id), len(set(children_of(hands, run_id)))) == (["succeeded"] * 4, 4)


def test_a_child_that_a_person_cancels_fails_its_item_for_good(hands: Hands) -> None:
    run_id = start(hands, top(keys={"retry": {"max_attempts": 3}}), 2)
    cancel(hands.engine, children_of(hands, run_id)[0], reason="not needed", force=True)
    assert work_all(hands, run_id) == "failed"
    assert "item 0: ChildCanceled" in hands.steps(run_id)["each"]["error"]["message"]


def test_a_workflow_that_is_not_there_fails_the_items_that_ask_for_it() -> None:
    made = top(workflow="{{ 'lw' if index else 'low' }}")
    result = testing.run(made, {"xs": [1, 2]}, {"tenfold": tenfold}, workflows=[LOW])
    assert "1 of 2 items failed; first item 1: UnknownWorkflow" in (result.error or {})["message"]
    assert "did you mean 'low'" in (result.error or {})["message"]


# What reaches all below.


def deep(hands: Hands, **keys: Any) -> tuple[str, list[Claimed]]:
    """Two items, each with a family of three runs whose lowest leaf runs."""
    run_id = start(
        hands, top(workflow="second", keys=keys) | {"timeout": 3600}, 2, *levels("second", "third", "fourth")
    )
    leaves: list[Claimed] = []
    while len(leaves) < 2:
        for claimed in hands.claim():
            if is_leaf(hands, claimed.step_id):
                leaves.append(claimed)
            else:
                hands.settle(claimed)
    return run_id, leaves


def family(hands: Hands, run_id: str) -> list[str]:
    with hands.db.transaction() as conn:
        return [run["status"] for run in list_family(conn, run_id, 20)[0]]


def test_a_cancel_waits_for_the_leaves_three_levels_below_the_items(hands: Hands) -> None:
    run_id, leaves = deep(hands)
    cancel(hands.engine, run_id, reason="wrong customer")
    assert family(hands, run_id) == ["canceling"] * 7
    assert statuses(hands.db, run_id) == ["waiting"] * 2
    tick(hands.engine)
    assert hands.claim() == []
    for leaf in leaves:
        assert family(hands, run_id)[0] == "canceling"
        hands.settle(leaf, SUCCESS)
        hands.work()
    assert family(hands, run_id) == ["canceled"] * 7
    assert [(row.status, row.reason) for row in items_of(hands.db, run_id)] == [("canceled", "canceled")] * 2
    assert work_all(hands, run_id) == "canceled"


def test_a_forced_cancel_ends_all_levels_below_the_items_now(hands: Hands) -> None:
    run_id, leaves = deep(hands)
    cancel(hands.engine, run_id, force=True)
    assert family(hands, run_id) == ["canceled"] * 7
    assert all(hands.settle(leaf, SUCCESS).stale for leaf in leaves)
    assert work_all(hands, run_id) == "canceled"


def test_a_pause_and_its_end_reach_all_levels_below_the_items(hands: Hands) -> None:
    run_id, leaves = deep(hands)
    pause(hands.engine, run_id, reason="lunch")
    assert family(hands, run_id) == ["paused"] * 7
    for leaf in leaves:
        hands.settle(leaf, SUCCESS)
    assert hands.claim() == []
    resume(hands.engine, run_id)
    assert work_all(hands, run_id) == "succeeded"


def test_deadlines_reach_all_levels_below_the_items(hands: Hands) -> None:
    past = {
        "run": "UPDATE workflow_runs SET deadline_at = orchestrator_now() WHERE id = :id",
        "step": """UPDATE workflow_run_steps SET wake_at = orchestrator_now(), attempt_deadline_at = orchestrator_now(),
          total_deadline_at = orchestrator_now() WHERE run_id = :id AND item_of IS NULL""",
        "item": """UPDATE workflow_run_steps SET wake_at = orchestrator_now(), attempt_deadline_at = orchestrator_now()
          WHERE run_id = :id AND item_of IS NOT NULL""",
    }
    for whose, statement in past.items():
        run_id, leaves = deep(hands)
        with hands.db.transaction() as conn:
            conn.execute(text(statement), {"id": run_id})
        tick(hands.engine)
        hands.work()
        assert family(hands, run_id) == ["failed", *["canceled"] * 6], whose
        assert all(hands.settle(leaf, SUCCESS).stale for leaf in leaves)
        assert work_all(hands, run_id) == "failed"


def test_a_mark_ends_the_children_of_all_items(hands: Hands) -> None:
    run_id, _ = deep(hands)
    mark(hands.engine, run_id, "each", StepStatus.SUCCEEDED, output=[])
    assert family(hands, run_id) == ["succeeded", *["canceled"] * 6]
    assert work_all(hands, run_id) == "succeeded"


def test_a_drain_lets_the_children_that_have_begun_come_to_their_ends(hands: Hands) -> None:
    made = document(each(concurrency=2), step("bad", function="fail"), name="top", failure_mode="drain")
    run_id = start_family(hands, made, LOW, input={"xs": [0, 1]})
    fan, bad = sorted(hands.claim(), key=lambda claimed: claimed.position)
    hands.settle(fan)
    for item in hands.claim():
        hands.settle(item)
    hands.settle(bad)
    assert work_all(hands, run_id) == "failed"
    assert (below(hands, run_id), hands.steps(run_id)["each"]["status"]) == (["succeeded"] * 2, "succeeded")


# Crashes.


def test_children_of_items_that_were_stopped_before_a_crash_are_found(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = start(hands, top(fail_fast=True), 3)
    with monkeypatch.context() as crash:
        crash.setattr(stop_items, "pass_down", lambda *_: frozenset())
        hands.settle(hands.claim()[0], FAILED)
        hands.work()
    assert (hands.status(run_id), sorted(below(hands, run_id))) == ("failed", ["failed", "running", "running"])
    tick(hands.engine)
    assert sorted(below(hands, run_id)) == ["canceled", "canceled", "failed"]


def test_a_childs_end_that_nobody_told_is_found(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = start(hands, top(), 3)
    with monkeypatch.context() as crash:
        crash.setattr("orchestrator.services.settle_all.tell_parent", lambda *_: frozenset())
        crash.setattr("orchestrator.services.halt.tell_parent", lambda *_: frozenset())
        hands.work()
    assert (below(hands, run_id), statuses(hands.db, run_id)) == (["succeeded"] * 3, ["waiting"] * 3)
    tick(hands.engine)
    hands.work()
    assert hands.steps(run_id)["each"]["output"] == [0, 10, 20]


# Limits.


def test_children_take_turns_as_their_workflow_says_or_fail_their_items(hands: Hands) -> None:
    queued = LOW | {"max_active_runs": 1}
    run_id = start(hands, top(), 3, queued)
    assert sorted(below(hands, run_id)) == ["pending", "pending", "running"]
    assert work_all(hands, run_id) == "succeeded"
    run_id = start(hands, top(max_failures=2), 3, queued | {"on_limit": "reject"})
    assert work_all(hands, run_id) == "succeeded"
    output = hands.steps(run_id)["each"]["output"]
    assert sorted(output, key=lambda one: one is None)[1:] == [None, None]
