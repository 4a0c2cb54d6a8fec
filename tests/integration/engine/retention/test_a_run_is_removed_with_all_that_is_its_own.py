"""A run that is removed leaves nothing behind, and takes nothing else along."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, text

from orchestrator.domain.retention import Rule
from orchestrator.errors import Conflict, NotFound
from orchestrator.services.collect import collect
from orchestrator.services.delete import delete
from orchestrator.services.pause import pause
from orchestrator.services.register import register
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.db import Database
from orchestrator.store.removal import PARTS, STAYS
from orchestrator.store.retention import id_so_old, page_of_runs, workflows_with_runs
from tests.coding import Coders
from tests.documents import document, step
from tests.families import below, levels, only_child, start_family
from tests.hands import Hands
from tests.integration.engine.retention.old import REFERRING, age, left, runs_left
from tests.integration.reads.rows import add_run, add_workflow
from tests.integration.reads.test_cost import rows_touched
from tests.watching import vacuum

OLD = [Rule(keep_seconds=30 * 86400, keep_newest=0)]  # the runs here have ended before they were started
EVERYTHING = [Rule(keep_seconds=0)]


def swept(db: Database, rules: list[Rule]) -> int:
    return sum(portion.runs for portion in collect(db, rules))


def test_every_table_that_refers_to_runs_is_removed_with_them_or_stays_for_a_reason(module_db: Database) -> None:
    """A table that is new is to be named in store/removal.py."""
    with module_db.transaction() as conn:
        found = {(row.table, row.column) for row in conn.execute(REFERRING)}
    removed = {table for table, _ in PARTS} | {"workflow_step_attempts"}
    forgotten = {f"{table}.{column}" for table, column in found if table not in removed} - STAYS.keys()
    assert forgotten == set()
    assert {place for place in STAYS if tuple(place.split(".")) not in found} == set()


FOREIGN = text("""
SELECT DISTINCT conrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND confrelid IN ('workflow_runs'::regclass, 'workflow_run_steps'::regclass)
""")


def test_every_table_with_a_foreign_key_to_runs_is_removed_before_them(module_db: Database) -> None:
    with module_db.transaction() as conn:
        referring = set(conn.execute(FOREIGN).scalars())
    assert referring
    assert referring - {table for table, _ in PARTS} == set()
    assert PARTS[-1] == ("workflow_runs", "id")


def code(ctx: Any, input: Any) -> Any:
    ctx.step("own", lambda: 1)
    ctx.call("ok", {})
    return ctx.await_child(ctx.spawn_child("leaf", {}, child_id=f"of-{ctx.run_id}"))


LINE = text("""
INSERT INTO step_logs (run_id, step_id, attempt, at, stream, level, message)
SELECT run_id, id, 1, now(), 'log', 'INFO', 'x' FROM workflow_run_steps WHERE run_id = ANY(CAST(:ids AS uuid[]))
""")


def full(hands: Coders) -> list[str]:
    """Runs that have a row in every table there is."""
    fan = step("each", with_items=[1, 2, 3], input={})
    waits = {"name": "wait", "wait_for": {"event": "go"}}
    made = [
        start_family(hands, document(below("down", "leaf"), fan, waits, name="top"), document(step("a"), name="leaf"))
    ]
    signal(hands.engine, made[0], "go", {"by": "hand"})
    made.append(hands.begin(code))
    hands.work()
    hands.finish(made[1])
    assert [hands.status(run_id) for run_id in made] == ["succeeded"] * 2
    with hands.db.transaction() as conn:
        conn.execute(LINE, {"ids": made})
    return made


def test_nothing_of_a_removed_run_is_left_and_of_others_everything(db: Database) -> None:
    hands = Coders(db)
    nothing = left(db)
    full(hands)
    first = left(db)
    assert {table for table, count in first.items() if count == 0} == {
        table for table in first if table in ("alert_runs", "hook_calls", "schedule_fires", "schedules")
    }
    age(db, 31)
    second = full(hands)
    assert swept(db, OLD) == 4
    assert left(db) == first
    assert set(second) <= runs_left(db)
    assert swept(db, EVERYTHING) == 4
    assert left(db) == nothing


def test_open_runs_and_what_is_above_or_below_an_open_run_stay(db: Database) -> None:
    hands = Hands(db)
    top = start_family(hands, *levels("top", "leaf", leaf={"name": "leaf", "function": "fail"}))
    hands.work()
    child = only_child(hands, top)
    assert hands.status(top) == "failed"
    retry(hands.engine, child)  # goes on alone: its parent has ended
    other = hands.start(document(step("a")))
    pause(hands.engine, other)
    age(db, 99)
    assert swept(db, EVERYTHING) == 0
    with pytest.raises(Conflict, match="a run below it"):
        delete(hands.engine, top)
    with pytest.raises(Conflict, match=f"it is part of run {top}"):
        delete(hands.engine, child)
    with pytest.raises(Conflict, match="the run is paused"):
        delete(hands.engine, other)
    hands.work()
    assert swept(db, OLD) == 0  # the child has ended just now
    age(db, 31, top)
    assert swept(db, OLD) == 2
    assert runs_left(db) == {other}


def test_a_child_with_a_name_stays_while_a_run_of_elsewhere_may_ask_for_it(db: Database) -> None:
    def asks(ctx: Any, input: Any) -> Any:
        child = ctx.spawn_child("leaf", {}, child_id="shared")
        if input["waits"]:
            ctx.wait_event("go")
        return ctx.await_child(child)

    hands = Coders(db)
    register(hands.engine, document(step("a"), name="leaf"), actor="test")
    first = hands.begin(asks, {"waits": False})
    hands.finish(first)
    second = start(hands.engine, "code", {"waits": True}).run_id
    hands.work()
    age(db, 99)
    assert swept(db, EVERYTHING) == 0
    signal(hands.engine, second, "go")
    assert hands.finish(second)["output"] == {"a": {}}
    assert swept(db, EVERYTHING) == 3


def test_an_idempotency_key_is_free_again_once_its_run_is_removed(db: Database) -> None:
    hands = Hands(db)
    register(hands.engine, document(step("a")), actor="test")
    first = start(hands.engine, "w", {}, StartOptions(idempotency_key="k")).run_id
    hands.work()
    assert start(hands.engine, "w", {}, StartOptions(idempotency_key="k")).run_id == first
    assert delete(hands.engine, first, actor="test") == 1
    assert start(hands.engine, "w", {}, StartOptions(idempotency_key="k")).run_id != first
    with pytest.raises(NotFound):
        delete(hands.engine, first)
    with db.transaction() as conn:
        assert (
            conn.execute(text("SELECT action FROM audit_log WHERE target_id = :id"), {"id": first}).scalar() == "delete"
        )


def test_rules_keep_the_newest_of_each_workflow_and_what_they_do_not_speak_of(db: Database) -> None:
    hands = Hands(db)
    documents = [document(step("a"), name="many"), document(step("a", function="fail"), name="few")]
    made = {one["name"]: [hands.start(one) for _ in range(5)] for one in documents}
    hands.work()
    age(db, 31)
    rules = [
        Rule(workflow="many", keep_seconds=30 * 86400, keep_newest=2),
        Rule(workflow="few", status="canceled", keep_seconds=0),
    ]
    before = [portion.counts for portion in collect(db, rules, preview=True) if portion.counts]
    assert before == [{("many", "default", "succeeded"): 3}]
    assert swept(db, rules) == 3
    assert runs_left(db) == {*made["many"][3:], *made["few"]}


def test_looking_for_old_runs_reads_those_of_the_workflow_and_no_others(module_db: Database) -> None:
    """Where nearly all runs are of other workflows, and where nearly all are of this one."""
    with module_db.transaction() as conn:
        few, many = (add_workflow(conn, name) for name in ("few", "many"))
        rare = {add_run(conn, few) for _ in range(3)}
        conn.execute(MANY, {"id": add_run(conn, many)})
    vacuum(module_db, "workflow_runs")
    for name, most in (("few", 3), ("many", 100)):
        found: list[str] = []

        def look(conn: Connection, name: str = name, found: list[str] = found) -> None:
            (workflow,) = [one for one in workflows_with_runs(conn) if one.name == name]
            found.extend(run.id for run in page_of_runs(conn, workflow.id, id_so_old(conn, 0), 100)[0])

        touched = rows_touched(module_db, look)
        assert len(found) == most
        assert name == "many" or set(found) == rare
        assert touched <= most + 20, name


MANY = text("""
INSERT INTO workflow_runs (id, workflow_id, revision_id, app_id, status, final_status, input, vars, root_id, step_count,
  created_at, finished_at)
SELECT n.id, r.workflow_id, r.revision_id, r.app_id, r.status, r.status, '{}', '{}', n.id, 1, now(), now()
FROM workflow_runs r, LATERAL (SELECT gen_random_uuid() AS id FROM generate_series(1, 5000) WHERE r.id IS NOT NULL) n
WHERE r.id = :id
""")
