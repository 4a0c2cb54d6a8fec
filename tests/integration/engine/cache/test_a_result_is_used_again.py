"""`cache`: the result of an earlier call of the same function with the same key, while its time lasts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.domain.outcome import Keep, Outcome
from orchestrator.services.apps import set_app
from orchestrator.services.coordinate import tick
from orchestrator.services.settle import settle
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.db import Database
from orchestrator.store.logs import LogLine
from tests.documents import document, step
from tests.hands import Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import deadlocks


class Counting:
    """A function that says how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, n: int = 0) -> int:
        self.calls += 1
        return self.calls


def cached(ttl: Any = 60, **keys: Any) -> dict[str, Any]:
    return document(
        step("a", function="count", input={"n": "{{ input.n }}"}, cache={"ttl": ttl, **keys}), name="cached"
    )


def outputs(hands: Hands, doc: dict[str, Any], *inputs: dict[str, Any]) -> list[Any]:
    found = []
    for given in inputs:
        run_id = hands.start(doc, given)
        hands.work()
        found.append(hands.steps(run_id)["a"]["output"])
    return found


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db, {"count": Counting()})


def test_the_same_input_is_not_called_again_and_the_step_says_so(hands: Hands) -> None:
    assert outputs(hands, cached(), {"n": 1}, {"n": 1}, {"n": 2}, {"n": 1}) == [1, 1, 2, 1]
    run_id = hands.start(cached(), {"n": 1})
    hands.work()
    row = hands.steps(run_id)["a"]
    assert (row["status"], row["reason"], row["attempts"]) == ("succeeded", "cached", 1)


def test_a_key_says_what_is_the_same(hands: Hands) -> None:
    keyed = cached(key="{{ input.customer }}")
    assert outputs(hands, keyed, {"n": 1, "customer": "ada"}, {"n": 2, "customer": "ada"}) == [1, 1]
    assert outputs(hands, keyed, {"n": 1, "customer": "bob"}) == [2]


def test_a_result_is_used_while_its_time_lasts_and_then_forgotten(hands: Hands) -> None:
    assert outputs(hands, cached(), {"n": 1}, {"n": 1}) == [1, 1]
    with hands.db.transaction() as conn:
        conn.execute(text("UPDATE function_results SET expires_at = orchestrator_now()"))
    assert outputs(hands, cached(), {"n": 1}) == [2]
    with hands.db.transaction() as conn:
        conn.execute(text("UPDATE function_results SET expires_at = orchestrator_now()"))
    tick(hands.engine)
    with hands.db.transaction() as conn:
        assert conn.scalar(text("SELECT count(*) FROM function_results")) == 0


def test_apps_do_not_see_each_others_results(hands: Hands) -> None:
    outputs(hands, cached(), {"n": 1})
    set_app(hands.db, "other", group="both", leave_group=False, config=None, actor="test")
    set_app(hands.db, "default", group="both", leave_group=False, config=None, actor="test")
    from_group = document(step("a", function="count", input={"n": 1}, cache={"ttl": 60}), name="shared")
    hands.start(from_group)
    hands.work()
    with hands.db.transaction() as conn:
        conn.execute(
            text("UPDATE workflows SET app_id = NULL, group_id = (SELECT id FROM groups) WHERE name = 'shared'")
        )
    run_id = start(hands.engine, "shared", {}, StartOptions(app="other")).run_id
    hands.work()
    assert hands.steps(run_id)["a"]["reason"] is None


def test_a_failure_is_not_kept(db: Database) -> None:
    hands = Hands(db)
    failing = document(step("a", function="boom", cache={"ttl": 60}))
    for _ in range(2):
        run_id = hands.start(failing)
        hands.work()
        assert hands.status(run_id) == "failed"
    with db.transaction() as conn:
        assert conn.scalar(text("SELECT count(*) FROM function_results")) == 0


def test_a_late_worker_keeps_no_result(hands: Hands) -> None:
    hands.start(cached(), {"n": 1})
    done = [hands.perform(claimed) for claimed in hands.claim()]
    hands.settle(done[0].claimed, Outcome.lost("it fell silent"))
    assert [settled.stale for settled in hands.settle_all(done)] == [True]
    with hands.db.transaction() as conn:
        assert conn.scalar(text("SELECT count(*) FROM function_results")) == 0


def test_what_a_cached_step_publishes_is_published_again(db: Database) -> None:
    doc = document(
        step("a", function="count", cache={"ttl": "{{ 60 }}"}, publish={"v": "{{ result }}"}),
        step("b", function="count", cache={"ttl": 60}, publish={"w": "{{ result }}"}, depends_on=["a"]),
    )
    run = testing.run(doc, functions={"count": Counting()})
    assert (run.vars, run.steps["b"].reason) == ({"v": 1, "w": 1}, "cached")


def test_inputs_that_differ_in_a_secret_only_have_results_of_their_own(db: Database) -> None:
    hands = Hands(db, {"length": lambda token: len(token)})
    hands.engine = replace(hands.engine, secrets={"ada": "short", "bob": "much longer"})
    doc = document(
        step("a", function="length", input={"token": "{{ secrets[input.who] }}"}, cache={"ttl": 60}), name="cached"
    )
    assert outputs(hands, doc, {"who": "ada"}, {"who": "bob"}, {"who": "ada"}) == [5, 11, 5]


def test_results_of_one_key_that_come_at_once_do_not_wait_for_each_other(db: Database) -> None:
    hands = Hands(db)
    keeps = {"cache": {"ttl": 60, "key": "one"}}
    doc = document(step("first"), step("a", **keeps), step("b", "a", "first", join="any", **keeps))
    kept = replace(Outcome.succeeded(1, "1"), keep=Keep('"one"', 60.0))
    lines = [LogLine(datetime.now(UTC), "stdout", "INFO", "printed")]
    for _ in range(25):
        hands.start(doc)
        begun = hands.claim()
        names = hands.engine.plan(begun[0].revision_id).positions
        first, a = sorted(begun, key=lambda claimed: claimed.position != names["first"])
        hands.settle(first)
        together([partial(settle, hands.engine, one, kept, lines=lines) for one in (a, *hands.claim())])
        with db.transaction() as conn:
            conn.execute(text("DELETE FROM function_results"))
    assert deadlocks(db) == 0
