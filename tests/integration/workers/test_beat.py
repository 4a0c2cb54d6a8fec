"""The coordinator in beat."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from sqlalchemy import text
from sqlalchemy.engine import make_url

from orchestrator.config import Config
from orchestrator.domain.definition import Retry
from orchestrator.functions import make_spec
from orchestrator.ids import new_ids
from orchestrator.services.claim import prepare
from orchestrator.store.db import Database
from orchestrator.store.migrate import upgrade
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.reads.rows import add_run, add_workflow
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for
from workers.announce import Announcer, this_process
from workers.beat import CoordinatingScheduler, Coordinator
from workers.sweeper import Sweeper


def retried(fleet: Fleet) -> dict[str, Any]:
    """A step whose second attempt only a coordinator makes due."""
    return {"name": "a", "function": "t.first_fails", "retry": {"max_attempts": 2, "delay": 0.3}}


def test_a_beat_announces_itself_and_says_goodbye(fleet: Fleet) -> None:
    beat = fleet.beat()
    (row,) = fleet.rows("SELECT * FROM workers")
    assert (row.kind, row.pid, row.stopped_at) == ("beat", beat.pid, None)
    assert beat.stop() == 0
    (row,) = fleet.rows("SELECT * FROM workers")
    assert row.stopped_at is not None
    assert "Traceback" not in beat.said()


def test_a_beat_imports_no_function_of_the_users(fleet: Fleet) -> None:
    beat = fleet.beat(FUNCTIONS="no_such_module")
    fleet.worker()
    assert fleet.ended(fleet.start([retried(fleet)]))["output"] == {"a": 2}
    assert "no_such_module" not in beat.said()


@pytest.fixture
def config(database_url: str, broker_url: str) -> Config:
    return Config.from_env({"DATABASE_URL": database_url, "REDIS_URL": broker_url})


def test_a_beat_retries_as_the_workers_say_that_the_function_does(db: Database, config: Config) -> None:
    """An attempt past its timeout is ended by the coordinator, which has not the function."""
    own = make_spec(lambda: None, "own", retry=Retry(max_attempts=2, delay=3600))
    hands = Hands(db)
    hands.engine.functions.put(own)
    run_id = hands.start(document(step("a", function="own", timeout=1)))
    (claimed,) = hands.claim()
    prepare(hands.engine, claimed)
    with db.transaction() as conn:
        conn.execute(text("UPDATE workflow_run_steps SET attempt_deadline_at = now() - interval '1 hour'"))
    Announcer(db, lambda: this_process("w", "worker"), hands.engine.functions).announce()
    beat = Coordinator(config)
    beat.tick()
    beat.stop()
    found = hands.steps(run_id)["a"]
    assert (found["status"], [entry["outcome"] for entry in found["history"]]) == ("ready", ["timed_out"])


def test_a_database_that_is_not_migrated_is_told_in_one_line_until_it_is(
    db: Database, config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    with db.transaction() as conn:
        conn.execute(text("DROP SCHEMA public CASCADE"))
        conn.execute(text("CREATE SCHEMA public"))
    beat = Coordinator(config)
    for _ in range(3):
        beat.tick()
    (told,) = caplog.records
    assert "orchestrator db upgrade; coordinating goes on when it answers" in told.getMessage()
    assert told.exc_info is None
    upgrade(config.database_url)
    beat.tick()
    with db.transaction() as conn:
        assert conn.execute(text("SELECT kind FROM workers WHERE stopped_at IS NULL")).scalars().all() == ["beat"]
    beat.stop()


def test_a_beat_that_ends_before_the_database_is_migrated_ends_quietly(
    db: Database, config: Config, caplog: pytest.LogCaptureFixture
) -> None:
    with db.transaction() as conn:
        conn.execute(text("DROP SCHEMA public CASCADE"))
    beat = Coordinator(config)
    beat.stop()
    assert [record.exc_info for record in caplog.records] == [None]


def test_a_beat_sleeps_until_an_entry_is_due_and_no_shorter() -> None:
    """Celery's own scheduler wakes ten milliseconds early, and then looks again and again until it is time."""
    scheduler = CoordinatingScheduler(Celery("t"), lazy=True)
    assert all(scheduler.adjust(seconds) > seconds for seconds in (0.001, 0.01, 1.0))
    assert scheduler.adjust(0) == 0


def test_a_beat_leaves_no_file_behind(fleet: Fleet, tmp_path: Path) -> None:
    fleet.home = tmp_path / "home"  # where nobody else does anything
    fleet.home.mkdir()
    fleet.beat().stop()
    assert list(fleet.home.iterdir()) == []


def test_due_retries_run(fleet: Fleet) -> None:
    fleet.beat()
    fleet.worker()
    assert fleet.ended(fleet.start([retried(fleet)]))["output"] == {"a": 2}


def test_a_killed_beat_is_not_missed_while_another_runs(fleet: Fleet) -> None:
    first = fleet.beat()
    fleet.beat()
    fleet.worker()
    first.kill()
    assert fleet.ended(fleet.start([retried(fleet)]))["output"] == {"a": 2}


def test_three_beats_do_no_harm(fleet: Fleet) -> None:
    beats = [fleet.beat(TICK_SECONDS="0.05") for _ in range(3)]
    fleet.worker()
    runs = [fleet.start([retried(fleet)]) for _ in range(3)]
    for run_id in runs:
        assert fleet.ended(run_id)["output"] == {"a": 2}
        assert fleet.tried(run_id, "a") == ["failed", "succeeded"]
    assert not any("Traceback" in beat.said() for beat in beats)


def test_of_two_beats_one_removes_what_is_old_and_says_so(fleet: Fleet) -> None:
    with fleet.engine.db.transaction() as conn:
        revision = add_workflow(conn)
        old = [add_run(conn, revision, id=id, root_id=id) for id in new_ids(120)]
        conn.execute(text("INSERT INTO retention_rules (what, keep_newest, changed_by) VALUES ('runs', 1, 'test')"))
    beats = [fleet.beat(GC_SECONDS="0.2") for _ in range(2)]
    wait_for(lambda: [row.id for row in fleet.rows("SELECT id FROM workflow_runs")] == old[-1:])
    assert [beat.stop() for beat in beats] == [0, 0]
    told = [beat.said() for beat in beats]
    assert "Traceback" not in "".join(told)
    (row,) = fleet.rows(
        "SELECT actor, sum((data ->> 'runs')::int) AS runs FROM audit_log WHERE action = 'gc' GROUP BY 1"
    )
    assert (row.actor, row.runs) == ("engine", 119)


def test_who_waits_long_for_the_turn_to_remove_what_is_old_leaves_it_for_another_time(
    db: Database, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Another that stands still while it takes its turn is no fault of anybody's."""
    caplog.set_level(logging.INFO, "orchestrator.beat")
    hurried = Database.connect(database_url, lock_timeout=0.1)
    sweeper = Sweeper(hurried, 0.05)
    sweeper.sweep()
    with db.transaction() as conn:
        conn.execute(text("SELECT FROM retention_turn FOR UPDATE"))
        sweeper.start()
        wait_for(lambda: caplog.records, what="it says so")
        sweeper.stop()
    hurried.close()
    assert [record.exc_info for record in caplog.records] == [None] * len(caplog.records)
    assert "removing what is old is left for another time" in caplog.records[0].getMessage()


def test_a_backlog_on_the_workers_does_not_starve_the_coordinator(fleet: Fleet) -> None:
    """A dead worker's step is reclaimed while the only worker is busy; a tick sent to the workers could not do it."""
    fleet.beat()
    busy = fleet.worker("solo")
    given = {"journal": fleet.journal, "file": fleet.flag("go")}
    fleet.start([{"name": "busy", "function": "t.wait", "input": given}])
    fleet.wait_event("start", "busy")
    doomed = fleet.worker("solo")
    run_id = fleet.start([{"name": "b", "function": "t.first_hangs", "input": given}])
    fleet.wait_event("start", "b")
    doomed.kill()
    wait_for(lambda: fleet.tried(run_id, "b") == ["lost"], what="the step is reclaimed")
    fleet.raise_flag("go")
    assert fleet.ended(run_id)["output"] == {"b": 2}
    assert busy.popen.poll() is None


def test_celerys_own_scheduler_coordinates_through_a_worker(fleet: Fleet) -> None:
    schedule = str(fleet.folder / "schedule")
    fleet.start_only("beat", ["-S", "celery.beat:PersistentScheduler", "-s", schedule])
    fleet.worker()
    assert fleet.ended(fleet.start([retried(fleet)]))["output"] == {"a": 2}


@contextmanager
def closed(fleet: Fleet) -> Iterator[None]:
    """The database lets nobody in."""
    name = make_url(fleet.database_url).database
    server = Database.connect(fleet.database_url.rpartition("/")[0] + "/postgres")
    try:
        with server.transaction() as conn:
            conn.execute(text(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'))
        with server.transaction() as conn:
            conn.execute(text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :n"), {"n": name})
        yield
        with server.transaction() as conn:
            conn.execute(text(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'))
    finally:
        server.close()


def test_an_outage_of_postgres_longer_than_the_lease_loses_no_attempt(fleet: Fleet) -> None:
    """One attempt runs through the outage, one ends in it; neither is run again, and no process dies."""
    beat = fleet.beat(LEASE_SECONDS="6", HEARTBEAT_SECONDS="3")  # twice that it waits for the worker to be back too
    worker = fleet.worker(LEASE_SECONDS="6")
    given = {"journal": fleet.journal, "file": fleet.flag("go")}
    ends_within = {"journal": fleet.journal, "file": fleet.flag("end")}
    run_id = fleet.start(
        [
            {"name": "a", "function": "t.wait", "input": given},
            {"name": "b", "function": "t.wait", "input": ends_within},
            retried(fleet) | {"name": "c", "depends_on": ["b"]},
        ]
    )
    fleet.wait_event("start", "a")
    fleet.wait_event("start", "b")
    with closed(fleet):
        wait_for(lambda: all("goes on when it answers" in process.said() for process in (beat, worker)))
        fleet.raise_flag("end")
        wait_for(lambda: fleet.clock("outage") > 7, what="the leases are over")
    fleet.raise_flag("go")
    assert fleet.ended(run_id)["output"] == {"a": 1, "c": 2}
    assert fleet.tried(run_id, "a") == fleet.tried(run_id, "b") == ["succeeded"]
    wait_for(lambda: all("answers again" in process.said() for process in (beat, worker)), what="they say so")
    assert not any("Traceback" in process.said() for process in (beat, worker))
    assert beat.said().count("coordinating goes on when it answers") == 1  # its alerts say so too, if they look then
