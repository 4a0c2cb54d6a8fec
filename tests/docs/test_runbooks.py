"""Each runbook is followed while what it is about is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from sqlalchemy import text

from orchestrator.config_urls import psql_url
from orchestrator.domain.roles import Role
from orchestrator.embedded.binaries import postgres_programs
from orchestrator.services.fire_now import fire_now
from orchestrator.services.register import register
from orchestrator.services.schedules import set_schedule
from orchestrator.services.signal import signal
from orchestrator.services.start import start
from orchestrator.services.tokens import create_token
from orchestrator.store.db import Database
from orchestrator.store.tables import metadata
from tests.architecture.pages import page
from tests.docs.following import Follower
from tests.documents import document, step
from tests.support import wait_for

PAGE = page("docs/runbooks.md")
FUNCTIONS = """
import os
import signal
import time
from pathlib import Path

from orchestrator import function


@function(name="shop.ok")
def ok():
    return {"pages": 1}


@function(name="shop.charge")
def charge():
    if not Path("mended").exists():
        raise ConnectionError("the bank does not answer")


@function(name="shop.slow")
def slow():
    while not Path("let-go").exists():
        time.sleep(0.05)


@function(name="shop.burn")
def burn():
    os.kill(os.getpid(), signal.SIGKILL)
"""
HELD = {"name": "held", "wait_for": {"event": "go"}}


def begin(at: Follower, name: str, *steps: Any) -> str:
    """Register a workflow and start it."""
    register(at.fleet.engine, document(*steps, name=name))
    return start(at.fleet.engine, name).run_id


def until(at: Follower, run_id: str, name: str, status: str) -> None:
    wait_for(lambda: at.fleet.step(run_id, name)["status"] == status, 40, what=f"{name} is {status}")


def stuck(at: Follower) -> None:
    begin(at, "report", step("report", function="shop.ok", queue="slow"), step("mail", "report", function="shop.ok"))


def crowded(at: Follower) -> None:
    begin(at, "report", HELD)


def lost_worker(at: Follower) -> None:
    until(at, begin(at, "busy", step("slow", function="shop.slow")), "slow", "running")
    assert at.worker is not None
    at.worker.kill()
    (at.folder / "let-go").touch()
    with at.fleet.engine.db.transaction() as conn:  # as it would be after half a minute
        conn.execute(text("UPDATE workers SET seen_at = seen_at - interval '1 hour' WHERE kind = 'worker'"))
    at.before_worker = lambda: run_out(at)  # until then its step is seen running


def run_out(at: Follower) -> None:
    """Let the leases of what runs end."""
    with at.fleet.engine.db.transaction() as conn:
        conn.execute(text("UPDATE workflow_run_steps SET lease_expires_at = now() WHERE status = 'running'"))


def dead_beat(at: Follower) -> None:
    assert at.beat is not None
    at.beat.kill()
    with at.fleet.engine.db.transaction() as conn:
        conn.execute(text("UPDATE workers SET seen_at = seen_at - interval '1 hour' WHERE kind = 'beat'"))


def flushed(at: Follower) -> None:
    at.stop()
    begin(at, "order", step("charge", function="shop.ok"))
    redis.Redis.from_url(at.fleet.broker_url).flushdb()
    at.more("worker")


def deployed(at: Follower) -> None:
    runs = [begin(at, "order", step("charge", function="shop.charge")) for _ in range(3)]
    for run_id in runs:
        until(at, run_id, "charge", "failed")
    at.before_worker = (at.folder / "mended").touch


def poison(at: Follower) -> None:
    run_id = begin(at, "burning", step("burn", function="shop.burn"), step("report", "burn", function="shop.ok"))
    until(at, run_id, "burn", "failed")


def paused_schedule(at: Follower) -> None:
    (at.folder / "mended").unlink()
    set_schedule(at.fleet.engine, "nightly", {"workflow": "order", "cron": "30 2 * * *", "max_failures": 1})
    fired = fire_now(at.fleet.engine, "nightly")
    assert fired.run_id is not None
    until(at, fired.run_id, "charge", "failed")


def leaked(at: Follower) -> None:
    create_token(at.fleet.engine.db, "ci", Role.OPERATOR)


def backed_up(at: Follower) -> None:
    until(at, begin(at, "kept", HELD), "held", "waiting")
    at.stop()
    dead_beat(at)
    at.beat = None


def nothing(at: Follower) -> None:
    """What it is about needs nothing of its own to be looked at."""


SECTIONS: dict[str, Callable[[Follower], None]] = {
    "A run is stuck": stuck,
    "A queue grows": crowded,
    "Workers vanish": lost_worker,
    "Beat is dead": dead_beat,
    "The broker was flushed or lost": flushed,
    "Postgres failed over, or its disk is full": nothing,
    "A bad deploy failed many runs": deployed,
    "A poison step": poison,
    "A schedule paused itself": paused_schedule,
    "A migration fails": nothing,
    "The database grows": nothing,
    "A secret leaked": leaked,
    "Restore from a backup": backed_up,
}


@pytest.mark.timeout(300)
def test_each_runbook_does_what_it_says(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", psql_url(follower.fleet.database_url))
    monkeypatch.setenv("PATH", str(postgres_programs(None)), prepend=":")
    follower.fleet.environment |= {"ORCHESTRATOR_MAX_LOST": "2", "ORCHESTRATOR_FUNCTIONS": "shop"}
    (follower.folder / "shop.py").write_text(FUNCTIONS)
    follower.start(QUEUES="default")
    for title, so in SECTIONS.items():
        so(follower)
        assert follower.follow(PAGE, title)
    ((kept,),) = follower.fleet.rows(
        "SELECT r.id FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id"
        " WHERE v.document::jsonb ->> 'name' = 'kept'"
    )
    signal(follower.fleet.engine, str(kept), "go")
    assert follower.fleet.ended(str(kept))["status"] == "succeeded"


def test_every_section_is_followed() -> None:
    titles = [line.removeprefix("## ") for line in PAGE.text.splitlines() if line.startswith("## ")]
    assert titles == list(SECTIONS)


def test_the_statement_for_sizes_tells_of_our_tables(module_db: Database) -> None:
    ((_, statement),) = [block for block in PAGE.blocks() if block[0] == "sql sizes"]
    with module_db.transaction() as conn:
        told = [row.relname for row in conn.execute(text(statement))]
    assert len(told) == 10
    assert set(told) <= metadata.tables.keys() | {"alembic_version"}
