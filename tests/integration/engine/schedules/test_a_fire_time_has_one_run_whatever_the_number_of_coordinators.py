"""Several coordinators, crashes, and ten thousand schedules, on a committed database."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.services import firing
from orchestrator.services.coordinate import due, tick
from orchestrator.services.register import register
from orchestrator.services.schedules import create_schedule
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands, together

SCHEDULES = 12


def hands(db: Database, count: int, **said: Any) -> Hands:
    """Schedules that were due 25 seconds ago for the first time."""
    made = Hands(db)
    register(made.engine, document(step("a")), actor="test")
    wanted = {"workflow": "w", "interval_seconds": 10, "overlap": "allow", **said}
    for number in range(count):
        create_schedule(made.engine, f"s{number}", wanted, actor="test")
    with db.transaction() as conn:
        earlier = "date_trunc('minute', orchestrator_now()) - interval '20 seconds'"
        conn.execute(text(f"UPDATE schedules SET next_fire_at = {earlier}, due_at = {earlier}"))
    return made


def fires(db: Database) -> list[tuple[str, int]]:
    """Of each schedule and fire time, how many runs there are."""
    counted = """
SELECT s.name, f.fire_at, count(r.id) AS runs FROM schedule_fires f JOIN schedules s ON s.id = f.schedule_id
LEFT JOIN workflow_runs r ON r.id = f.run_id GROUP BY s.name, f.fire_at ORDER BY s.name, f.fire_at
"""
    with db.transaction() as conn:
        return [(row.name, row.runs) for row in conn.execute(text(counted))]


def count(db: Database, table: str) -> int:
    with db.transaction() as conn:
        return int(conn.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def test_three_coordinators_start_one_run_for_each_fire_time(db: Database) -> None:
    made = hands(db, SCHEDULES)
    coordinators = [made, Hands(db), Hands(db)]
    for _ in range(2):
        together([partial(tick, one.engine) for one in coordinators])
    found = fires(db)
    assert {runs for _, runs in found} == {1}
    assert len({name for name, _ in found}) == SCHEDULES
    assert len(found) >= 3 * SCHEDULES
    assert count(db, "workflow_runs") == len(found)


def test_a_crash_between_start_and_commit_leaves_nothing(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    made = hands(db, 2)

    def crash(*_: Any, **__: Any) -> None:
        raise RuntimeError("pulled the plug")

    with monkeypatch.context() as patched:
        patched.setattr(firing.schedules, "move_on", crash)
        tick(made.engine)
    assert count(db, "workflow_runs") == count(db, "schedule_fires") == 0
    with db.transaction() as conn:
        errors = set(conn.execute(text("SELECT error FROM schedules")).scalars())
        assert errors == {"RuntimeError: pulled the plug"}, "the schedule tells of it, and is tried again in a minute"
        assert conn.execute(text("SELECT bool_and(due_at > orchestrator_now()) FROM schedules")).scalar_one()
        conn.execute(text("UPDATE schedules SET due_at = next_fire_at"))
    tick(made.engine)
    assert {runs for _, runs in fires(db)} == {1}


def test_ten_thousand_idle_schedules_cost_one_index_probe(db: Database) -> None:
    made = hands(db, 1, interval_seconds=86_400)
    fill = """
INSERT INTO schedules (id, name, name_key, app_id, workflow, workflow_key, input, interval_seconds, timezone,
  catchup_seconds, overlap, jitter_seconds, max_failures, next_fire_at, due_at, created_by, changed_by)
SELECT gen_random_uuid(), 'f' || n, 'f' || n, app_id, workflow, workflow_key, input, interval_seconds, timezone,
  catchup_seconds, overlap, jitter_seconds, max_failures, now() + interval '1 day', now() + interval '1 day', 'x', 'x'
FROM schedules CROSS JOIN generate_series(1, 10000) n
"""
    with db.transaction() as conn:
        conn.execute(text(fill))
        conn.execute(
            text("UPDATE schedules SET next_fire_at = now() + interval '1 day', due_at = NULL WHERE due_at < now()")
        )
    read = "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = 'schedules'"
    db.call("SELECT pg_stat_force_next_flush()", [])
    before = db.call(read, [])[0][0]
    names = {duty.__name__ for duty in due(made.engine)}
    db.call("SELECT pg_stat_force_next_flush()", [])
    assert names.isdisjoint({"fire_schedules", "follow_fires"})
    assert db.call(read, [])[0][0] - before <= 1
