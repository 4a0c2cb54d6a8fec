"""What is removed while others act on it goes as a whole, or stays as a whole."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import pytest
from sqlalchemy import text

from orchestrator.domain.retention import Rule
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, Locked, NotFound
from orchestrator.services.collect import collect
from orchestrator.services.coordinate import tick
from orchestrator.services.delete import delete
from orchestrator.services.gc import gc
from orchestrator.services.mark import mark
from orchestrator.services.register import register
from orchestrator.services.retention import set_rule
from orchestrator.services.retry import retry
from orchestrator.services.start import start_many
from orchestrator.store.db import Database
from orchestrator.store.retention import take_turn
from tests.documents import document, step
from tests.families import levels, start_family
from tests.hands import Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import deadlocks
from tests.integration.engine.retention.old import left, runs_left
from tests.support import soaked, wait_for
from tests.watching import blocked

EVERYTHING = [Rule(keep_seconds=0)]
FAILS = document(step("a"), step("b", "a", function="fail"), step("c", "b"))
ORPHANS = text("""
SELECT 'step' AS what, run_id::text AS id FROM workflow_run_steps WHERE run_id NOT IN (SELECT id FROM workflow_runs)
UNION ALL SELECT 'event', run_id::text FROM run_events WHERE run_id NOT IN (SELECT id FROM workflow_runs)
UNION ALL SELECT 'attempt', step_id::text FROM workflow_step_attempts
  WHERE step_id NOT IN (SELECT id FROM workflow_run_steps)
UNION ALL SELECT 'run without steps', id::text FROM workflow_runs
  WHERE id NOT IN (SELECT run_id FROM workflow_run_steps)
""")


def orphans(db: Database) -> list[tuple[str, str]]:
    with db.transaction() as conn:
        return [(row.what, row.id) for row in conn.execute(ORPHANS)]


def many(hands: Hands, name: str, count: int) -> list[str]:
    """Runs that have ended."""
    register(hands.engine, document(step("a"), name=name), actor="test")
    made = [one.run_id for one in start_many(hands.engine, name, [{}] * count)]
    hands.work()
    return made


def test_two_who_remove_at_once_remove_each_run_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.services.collect._TREES", 5)
    hands = Hands(db)
    for _ in range(6):
        start_family(hands, *levels("top", "leaf"))
    many(hands, "single", 30)

    def remove() -> Counter[str]:
        """How many runs of each workflow this one removed: each counts by itself, for together they might miscount."""
        removed: Counter[str] = Counter()
        for portion in collect(db, EVERYTHING):
            for (workflow, _, _), count in portion.counts.items():
                removed[workflow] += count
        return removed

    assert sum(together([remove, remove, remove]), Counter()) == {"top": 6, "single": 30}
    assert runs_left(db) == set()
    assert sum(left(db).values()) == 0


def test_a_run_that_somebody_has_locked_is_left_and_the_others_go(db: Database) -> None:
    hands = Hands(db)
    held = many(hands, "w", 5)[2]
    with db.transaction() as conn:
        conn.execute(text("SELECT FROM workflow_run_steps WHERE run_id = :id FOR UPDATE"), {"id": held})
        assert sum(portion.runs for portion in collect(db, EVERYTHING)) == 4
        with pytest.raises(Locked):
            delete(hands.engine, held)
    assert runs_left(db) == {held}
    assert hands.steps(held)["a"]["status"] == "succeeded"


def test_who_acts_on_a_run_never_gives_way_to_who_removes_it(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a process that removes stands still: with the run in hand it waits for none of its steps."""
    monkeypatch.setattr("orchestrator.store.removal._LOCK_SECONDS", 60)
    (held,) = many(Hands(db), "w", 1)
    with ThreadPoolExecutor(1) as pool:
        with db.transaction() as conn:  # as a mark or a retry: the steps, and then the run
            conn.execute(text("SELECT FROM workflow_run_steps WHERE run_id = :id FOR UPDATE"), {"id": held})
            removing = pool.submit(list, collect(db, EVERYTHING))
            wait_for(lambda: removing.done() or blocked(db), what="the other is through, or waits for a step")
            conn.execute(text("SELECT FROM workflow_runs WHERE id = :id FOR NO KEY UPDATE"), {"id": held})
        assert sum(portion.runs for portion in removing.result(60)) == 0
    assert (deadlocks(db), runs_left(db)) == (0, {held})


def test_what_operators_act_on_while_it_is_removed_is_whole_or_gone(db: Database) -> None:
    hands = Hands(db)
    for _ in range(soaked(2, 60)):
        runs = [hands.start(FAILS) for _ in range(12)]
        hands.work()
        going = threading.Event()

        def act(verb: int, runs: list[str] = runs, going: threading.Event = going) -> None:
            going.wait()
            for run_id in runs[verb:] + runs[:verb]:
                with suppress(Conflict, NotFound, Locked):
                    if verb % 2:
                        retry(hands.engine, run_id)
                    else:
                        mark(hands.engine, run_id, "b", StepStatus.SUCCEEDED, output=1)

        def remove(going: threading.Event = going) -> None:
            going.set()
            for _ in range(3):
                for _ in collect(db, EVERYTHING):
                    pass

        together([partial(act, 0), partial(act, 5), remove, remove])
        hands.work()
        tick(hands.engine)
        hands.work()
        assert orphans(db) == []
        assert {hands.status(run_id) for run_id in runs_left(db)} <= {"failed", "succeeded"}
    assert deadlocks(db) == 0
    for _ in collect(db, EVERYTHING):
        pass
    assert sum(left(db).values()) == 0


def test_a_limit_stops_it_and_what_was_done_is_in_the_audit_log(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.services.collect._TREES", 10)
    many(Hands(db), "w", 26)
    (*_, done) = gc(db, EVERYTHING, limit=15, actor="me", reason="full disk")
    assert done.roots == done.runs == 20  # two transactions
    assert len(runs_left(db)) == 6
    with db.transaction() as conn:
        (entry,) = conn.execute(text("SELECT actor, reason, data FROM audit_log WHERE action = 'gc'"))
    assert (entry.actor, entry.reason, entry.data["runs"]) == ("me", "full disk", 20)
    assert entry.data["by_workflow"] == [{"workflow": "w", "app": "default", "status": "succeeded", "runs": 20}]


@pytest.mark.parametrize(("actor", "entries"), [("engine", 0), ("me", 1)])
def test_that_old_rows_of_histories_go_by_themselves_is_not_in_it(db: Database, actor: str, entries: int) -> None:
    set_rule(db, Rule("audit_log", keep_seconds=86_400), actor="me")
    with db.transaction() as conn:
        conn.execute(text(OLD))
    (*_, done) = gc(db, [], actor=actor)
    assert done.histories == {"audit_log": 1}
    with db.transaction() as conn:
        assert conn.execute(text("SELECT count(*) FROM audit_log WHERE action = 'gc'")).scalar_one() == entries


OLD = """
INSERT INTO audit_log (at, actor, action, target_kind, target_id)
VALUES (now() - interval '9 d', 'me', 'start', 'run', 'x')
"""


def test_of_several_coordinators_one_has_the_turn_until_it_is_over(db: Database) -> None:
    with db.transaction() as conn:
        assert take_turn(conn, "a", 60)
        assert not take_turn(conn, "b", 60)
        assert take_turn(conn, "a", -1)
        assert take_turn(conn, "b", 60)
