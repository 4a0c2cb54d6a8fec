"""Items that sleep, wait for an event or a person, or call a Celery task: each waits by itself, without a worker."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.client import Orchestrator
from orchestrator.domain.celery_task import Answer
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.answer import settle_answered, take_answers
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.decide import decide
from orchestrator.services.dispatch import dispatch
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from orchestrator.store.reads import list_approvals
from orchestrator.store.transition import Lease
from tests.documents import document, step
from tests.hands import Hands, together
from tests.integration.engine.items.counts import check_items, items_of, statuses
from tests.support import soaked


@pytest.fixture
def hands(module_db: Database) -> Hands:
    return Hands(module_db)


def each(items: Any, keys: dict[str, Any] | None = None, **kind: Any) -> dict[str, Any]:
    return {"name": "each", "with_items": items, **kind, **(keys or {})}


def ask(**said: Any) -> dict[str, Any]:
    return {"approval": {"title": "Pay {{ item }} out?", **said}}


# Time.


def test_each_item_sleeps_as_long_as_it_says() -> None:
    result = testing.run(document(each([5, 60, 20], sleep="{{ item + index }}")))
    assert (result.output, result.duration.total_seconds()) == ({"each": [None] * 3}, 61)
    one_by_one = testing.run(document(each({"items": [5, 60, 20], "concurrency": 1}, sleep="{{ item }}")))
    assert one_by_one.duration.total_seconds() == 85


def test_an_item_that_sleeps_past_its_timeout_fails_alone() -> None:
    asked = {"items": [5, 60], "max_failures": 1}
    result = testing.run(document(each(asked, sleep="{{ item }}", timeout="{{ 10 + index }}")))
    assert [(i.status, i.reason) for i in result.steps["each"].items] == [("succeeded", None), ("failed", "timeout")]


# Events.


def test_each_item_waits_for_an_event_of_its_own() -> None:
    made = document(each([{"id": 7}, {"id": 8}], wait_for={"event": "paid-{{ item.id }}"}))
    result = testing.run(made, signals={"paid-8": {"n": 80}, "paid-7": {"n": 70}})
    assert result.output == {"each": [{"n": 70}, {"n": 80}]}


def test_a_signal_wakes_the_item_that_waits_for_it_and_no_other(hands: Hands) -> None:
    run_id = hands.start(document(each("{{ range(20) | list }}", wait_for={"event": "paid-{{ item }}"})))
    hands.work()
    assert statuses(hands.db, run_id) == ["waiting"] * 20
    sent = signal(hands.engine, run_id, "paid-12", {"by": "ada"})
    assert (sent.step, sent.item) == ("each", 12)
    assert [row.item_index for row in items_of(hands.db, run_id) if row.status != "waiting"] == [12]
    hands.work()
    assert signal(hands.engine, run_id, "paid-12", 2).step is None
    for other in range(20):
        signal(hands.engine, run_id, f"paid-{other}")
    hands.work()
    assert check_items(hands.db, run_id) == {"succeeded": 20}
    assert hands.steps(run_id)["each"]["output"][12] == {"by": "ada"}


def test_signals_of_one_name_are_taken_by_the_items_in_their_order(hands: Hands) -> None:
    run_id = hands.start(document(each([1, 2, 3], wait_for={"event": "next"})))
    signal(hands.engine, run_id, "next", "kept")
    hands.work()
    assert [signal(hands.engine, run_id, "next", n).item for n in (1, 2)] == [1, 2]
    hands.work()
    assert hands.steps(run_id)["each"]["output"] == ["kept", 1, 2]
    with pytest.raises(Conflict):
        signal(hands.engine, run_id, "next")


def test_an_event_that_does_not_come_ends_its_item_as_on_timeout_says() -> None:
    wait = {"event": "paid-{{ item }}", "timeout": "{{ item }}"}
    skipped = testing.run(document(each([5, 6], wait_for=wait | {"on_timeout": "skip"})), signals={"paid-5": "in time"})
    assert skipped.output == {"each": ["in time", None]}
    none = testing.run(document(each([5, 6], wait_for=wait | {"on_timeout": "skip"})))
    assert (none.steps["each"].status, none.steps["each"].reason) == ("skipped", "timeout")
    failed = testing.run(document(each([5, 6], wait_for=wait)))
    assert "2 of 2 items failed; first item 0: WaitTimeout" in (failed.error or {})["message"]


def test_a_signal_that_comes_as_an_item_is_suspended_is_never_lost(hands: Hands) -> None:
    for _ in range(soaked(12, 100)):
        run_id = hands.start(document(each([1, 2], wait_for={"event": "go-{{ item }}"})))
        for claimed in hands.claim():
            hands.settle(claimed)
        acts = [partial(hands.settle_all, [hands.perform(claimed)]) for claimed in hands.claim()]
        together([*acts, *[partial(signal, hands.engine, run_id, f"go-{n}", n) for n in (1, 2)]])
        hands.work()
        assert hands.steps(run_id)["each"]["output"] == [1, 2]


# People.


def test_each_item_asks_and_is_answered_by_itself(hands: Hands) -> None:
    fields = {"note": {"type": "string"}}
    run_id = hands.start(document(each(["a", "b", "c"], wait_for=ask(fields=fields))))
    decide(hands.engine, run_id, "each", True, {"note": "ahead"}, item=2, actor="eve")
    hands.work()
    with hands.db.transaction() as conn:
        asked = [(one["item"], one["title"]) for one in list_approvals(conn).items if one["run_id"] == run_id]
    assert asked == [(0, "Pay a out?"), (1, "Pay b out?")]
    decided = decide(hands.engine, run_id, "each", True, {"note": "fine"}, item=1, actor="ada")
    assert (decided.step, decided.item) == ("each", 1)
    hands.work()
    with pytest.raises(Conflict, match="that was decided by ada"):
        decide(hands.engine, run_id, "each", False, item=1)
    decide(hands.engine, run_id, "each", False, comment="no", item=0)
    hands.work()
    row = hands.steps(run_id)["each"]
    assert row["error"]["message"] == "1 of 3 items failed; first item 0: Rejected: rejected by cli: no"
    assert [one.output and one.output["fields"] for one in items_of(hands.db, run_id)] == [
        None,
        {"note": "fine"},
        {"note": "ahead"},
    ]


def test_a_decision_names_its_item(hands: Hands) -> None:
    alone = {"name": "alone", "wait_for": {"approval": {"title": "?"}}}
    run_id = hands.start(document(each([1, 2], wait_for=ask()), alone))
    hands.work()
    with pytest.raises(InvalidInput, match="'each' asks for each of its items"):
        decide(hands.engine, run_id, "each", True)
    with pytest.raises(NotFound, match="'each' has no item 2"):
        decide(hands.engine, run_id, "each", True, item=2)
    with pytest.raises(NotFound, match="'alone' has no items"):
        decide(hands.engine, run_id, "alone", True, item=0)
    with pytest.raises(Conflict, match="is an approval"):
        signal(hands.engine, run_id, "approval#0:each")


def test_a_step_that_is_called_like_an_item_is_asked_apart(hands: Hands) -> None:
    names = ["0:each", "each[0]", "each#0"]
    alone = [{"name": name, "wait_for": {"approval": {"title": "?"}}} for name in names]
    run_id = hands.start(document(each([1], wait_for=ask()), *alone))
    hands.work()
    decide(hands.engine, run_id, "each", True, item=0)
    hands.work()
    found = {name: row["status"] for name, row in hands.steps(run_id).items()}
    assert found == {"each": "succeeded"} | dict.fromkeys(names, "waiting")


def test_the_client_decides_for_an_item(hands: Hands) -> None:
    client = Orchestrator(hands.engine)
    run_id = hands.start(document(each([1, 2], wait_for=ask(on_reject="continue"))))
    hands.work()
    client.approve(run_id, "each", item=1, comment="fine")
    client.reject(run_id, "each", item=0)
    hands.work()
    assert [one["approved"] for one in hands.steps(run_id)["each"]["output"]] == [False, True]


def test_two_decisions_for_an_item_at_one_moment_are_one(hands: Hands) -> None:
    for _ in range(soaked(4, 60)):
        run_id = hands.start(document(each([1, 2], wait_for=ask())))
        hands.work()
        refused: list[str] = []

        def one(run_id: str, refused: list[str], actor: str) -> None:
            try:
                decide(hands.engine, run_id, "each", True, item=0, actor=actor)
            except Conflict:
                refused.append(actor)

        together([partial(one, run_id, refused, actor) for actor in ("ada", "eve", "joe")])
        hands.work()
        assert len(refused) == 2
        assert statuses(hands.db, run_id) == ["succeeded", "waiting"]
        cancel(hands.engine, run_id)


def test_answers_for_items_are_given_as_a_list_in_tests() -> None:
    made = document(each([1, 2], wait_for=ask(fields={"note": {"type": "string"}}, on_reject="continue")))
    result = testing.run(made, approvals={"each": [{"note": "x"}, False]})
    assert [one["fields"] for one in result.output["each"]] == [{"note": "x"}, {}]


# Celery.


def answered(hands: Hands, index: int, result: Any = None, **told: Any) -> None:
    """The task that the call at this index asked for gives this."""
    called = hands.outbox.calls[index]
    taken = take_answers(hands.engine, [Answer(called.step_id, called.token, result, **told)], Lease("answers", 30.0))
    dispatch(hands.engine, settle_answered(hands.engine, taken.done).queues)
    hands.work()


def calling(**keys: Any) -> dict[str, Any]:
    asked = {"items": "{{ input.xs }}", "max_failures": 1, **keys}
    return step("each", function="celery:proj.add", with_items=asked, input={"a": "{{ item }}", "i": "{{ index }}"})


def test_each_item_calls_the_task_and_ends_with_its_answer(hands: Hands) -> None:
    run_id = hands.start(document(calling()), {"xs": [5, 6, 7]})
    hands.work()
    assert [call.kwargs for call in hands.outbox.calls] == [{"a": 5, "i": 0}, {"a": 6, "i": 1}, {"a": 7, "i": 2}]
    assert statuses(hands.db, run_id) == ["waiting"] * 3
    answered(hands, 2, 70)
    answered(hands, 1, error={"type": "ValueError", "message": "no", "classes": ["ValueError"], "traceback": None})
    check_items(hands.db, run_id)
    answered(hands, 0, 50)
    assert hands.steps(run_id)["each"]["output"] == [50, None, 70]
    assert check_items(hands.db, run_id) == {"succeeded": 2, "failed": 1}


def test_tasks_of_items_that_are_stopped_need_not_begin(hands: Hands) -> None:
    run_id = hands.start(document(calling(fail_fast=True, max_failures=0)), {"xs": [5, 6, 7]})
    hands.work()
    answered(hands, 0, error={"type": "ValueError", "message": "no", "classes": ["ValueError"], "traceback": None})
    assert statuses(hands.db, run_id) == ["failed", "canceled", "canceled"]
    assert len(hands.outbox.calls) == 1  # the transport has revoked those of the others


# All of them.


@pytest.mark.parametrize("kind", [{"sleep": 60}, {"wait_for": {"event": "e-{{ item }}"}}, {"wait_for": ask()}])
def test_items_that_wait_are_canceled_at_once_and_waited_for_anew_by_a_retry(
    hands: Hands, kind: dict[str, Any]
) -> None:
    run_id = hands.start(document(each({"items": [1, 2, 3], "concurrency": 2}, **kind)))
    hands.work()
    cancel(hands.engine, run_id)
    assert (hands.status(run_id), statuses(hands.db, run_id)) == ("canceled", ["canceled"] * 3)
    assert retry(hands.engine, run_id) == 1
    hands.work()
    assert statuses(hands.db, run_id) == ["waiting", "waiting", "pending"]
    cancel(hands.engine, run_id, force=True)
    tick(hands.engine)
    assert (hands.status(run_id), check_items(hands.db, run_id)) == ("canceled", {"canceled": 3})


def test_a_thousand_items_that_wait_cost_rows_only_and_a_signal_finds_its_own_by_an_index(hands: Hands) -> None:
    run_id = hands.start(document(each("{{ range(1000) | list }}", wait_for={"event": "paid-{{ item }}"})))
    hands.work()
    with hands.db.transaction() as conn:
        held = conn.execute(
            text("SELECT count(*) FROM workflow_run_steps WHERE run_id = :id AND lease_expires_at IS NOT NULL"),
            {"id": run_id},
        ).scalar()
        plan = conn.execute(
            text("""EXPLAIN SELECT id FROM workflow_run_steps WHERE run_id = :id AND status = 'waiting'
              AND wait ->> 'event' = 'paid-77' ORDER BY position LIMIT 1"""),
            {"id": run_id},
        )
        assert (held, "steps_event_idx" in str(plan.all())) == (0, True)
    assert signal(hands.engine, run_id, "paid-77").item == 77
    cancel(hands.engine, run_id)
