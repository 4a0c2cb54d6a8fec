"""Messages are hints: lost, doubled, late or wrong, they change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import redis
from sqlalchemy import text
from sqlalchemy.engine import make_url

from orchestrator.embedded import ServerUrls
from orchestrator.embedded.server import Server
from orchestrator.embedded.valkey import start_valkey
from orchestrator.ids import new_id, new_token
from orchestrator.store.db import Database
from orchestrator.store.transition import Queued
from orchestrator.transport import CeleryTransport
from tests.integration.workers.fleet import Fleet
from tests.integration.workers.forks import Forks
from tests.processes import unused_port
from tests.support import wait_for


def spanning(fleet: Fleet, name: str = "a", **more: Any) -> dict[str, Any]:
    return {"name": name, "function": "t.span", "input": {"journal": fleet.journal}, **more}


def queued(fleet: Fleet) -> list[Queued]:
    rows = fleet.rows("SELECT id, claim_token FROM workflow_run_steps WHERE status = 'queued'")
    return [Queued(row.id, row.claim_token) for row in rows]


def test_a_message_delivered_twice_runs_its_step_once(fleet: Fleet) -> None:
    run_id = fleet.start([spanning(fleet)])
    for _ in range(5):
        fleet.engine.transport.send("default", queued(fleet))
    fleet.worker()
    assert fleet.ended(run_id)["output"] == {"a": 1}
    wait_for(lambda: fleet.engine.transport.depth("default") == 0)
    assert len(fleet.events("start")) == 1


def test_messages_that_hold_nonsense_are_told_and_the_worker_goes_on(fleet: Fleet) -> None:
    run_id = fleet.start([spanning(fleet)], None)
    (real,) = queued(fleet)
    with redis.Redis.from_url(fleet.broker_url) as client:
        client.flushdb()
    wrong = [
        Queued(real.step_id, new_token()),
        Queued(new_id(), new_token()),
        Queued("'; DROP TABLE workflow_runs", "x"),
        Queued(real.step_id, real.token.upper()),
    ]
    fleet.engine.transport.send("default", wrong)
    fleet.engine.transport.send("default", [real])
    worker = fleet.worker(concurrency=1)
    assert fleet.ended(run_id)["output"] == {"a": 1}
    assert len(fleet.events("start")) == 1
    assert "DROP TABLE" in worker.said()


def test_several_steps_in_one_message_all_run(fleet: Fleet) -> None:
    run_id = fleet.start([spanning(fleet, name) for name in "abcde"])
    steps = queued(fleet)
    assert len(steps) == 5
    with redis.Redis.from_url(fleet.broker_url) as client:
        client.flushdb()
    transport = CeleryTransport(fleet.broker_url, entries=3)
    transport.send("default", steps)
    assert transport.depth("default") == 2
    transport.close()
    fleet.worker()
    assert fleet.ended(run_id)["status"] == "succeeded"


def test_a_broker_that_loses_everything_loses_nothing(fleet: Fleet) -> None:
    run_id = fleet.start([spanning(fleet, f"s{number}") for number in range(20)])
    with redis.Redis.from_url(fleet.broker_url) as client:
        assert client.llen("default") == 20
        client.flushdb()
    fleet.worker()
    fleet.beat()
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert len(fleet.events("start")) == 20


def test_a_broker_flushed_under_a_running_worker_is_filled_again(fleet: Fleet) -> None:
    fleet.beat()
    fleet.worker()
    slow = {"journal": fleet.journal, "seconds": 0.05}
    run_id = fleet.start([spanning(fleet, f"s{number}", input=slow) for number in range(60)])
    wait_for(lambda: len(fleet.events("end")) > 10)
    with redis.Redis.from_url(fleet.broker_url) as client:
        client.flushdb()
    assert fleet.ended(run_id)["status"] == "succeeded"
    assert len(fleet.events("start")) == 60


def test_steps_started_while_the_broker_is_away_run_when_it_is_back(fleet: Fleet) -> None:
    fleet.worker()
    fleet.beat()
    away = CeleryTransport("redis://127.0.0.1:1/0")
    object.__setattr__(fleet.engine, "transport", away)
    run_id = fleet.start([spanning(fleet)])
    assert fleet.ended(run_id)["output"] == {"a": 1}


def test_a_broker_that_dies_and_comes_back_empty_is_used_again(
    database_url: str, forks: Forks, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    port, folder = unused_port(), tmp_path / "valkey"

    def start_broker() -> Server:
        return start_valkey(folder, port, "secret", tmp_path / "valkey.log", databases=1, guardian=None)

    broker = start_broker()
    fleet = Fleet(database_url, f"redis://:secret@127.0.0.1:{port}/0", tmp_path, forks)
    request.addfinalizer(lambda: (fleet.end(), broker.stop(5)))
    fleet.beat()
    worker = fleet.worker(LEASE_SECONDS="60")
    given = {"journal": fleet.journal, "file": fleet.flag("go")}
    first = fleet.start([{"name": "a", "function": "t.wait", "input": given}])
    fleet.wait_event("start", "a")
    broker.stop(5)
    second = fleet.start([spanning(fleet, "b")])
    fleet.raise_flag("go")
    assert fleet.ended(first)["output"] == {"a": 1}
    broker = start_broker()
    assert fleet.ended(second)["output"] == {"b": 1}
    assert worker.popen.poll() is None


def test_a_broker_that_dies_or_takes_no_writes_under_a_busy_worker_does_not_end_it(
    database_url: str, tmp_path: Path, request: pytest.FixtureRequest, forks: Forks
) -> None:
    """It asks for still more. What was fetched is to be given back, to a broker that is not there."""
    port, folder = unused_port(), tmp_path / "valkey"

    def start_broker() -> Server:
        return start_valkey(folder, port, "secret", tmp_path / "valkey.log", databases=1, guardian=None)

    broker = start_broker()
    fleet = Fleet(database_url, f"redis://:secret@127.0.0.1:{port}/0", tmp_path, forks)
    request.addfinalizer(lambda: (fleet.end(), broker.stop(5)))
    worker = fleet.worker(concurrency=2, LEASE_SECONDS="60")
    given = {"journal": fleet.journal, "file": fleet.flag("go")}
    long = fleet.start([{"name": name, "function": "t.wait", "input": given} for name in "ab"])
    fleet.wait_event("start", count=2)
    fetched = fleet.start([spanning(fleet, "c")])
    with redis.Redis.from_url(fleet.broker_url) as client:
        wait_for(lambda: client.hlen("unacked") == 1, what="the worker has fetched it")
    broker.process.kill()
    broker.process.wait()
    wait_for(lambda: "Cannot connect" in worker.said() or worker.popen.poll(), what="the worker has noticed")
    broker = start_broker()
    wait_for(lambda: worker.said().count("Connected to") > 1, what="the worker is back")
    with redis.Redis.from_url(fleet.broker_url) as client:
        client.replicaof("127.0.0.1", 1)  # it takes no more writes, as after a failover
        wait_for(lambda: worker.said().count("Connection to broker lost") > 1 or worker.popen.poll() is not None)
        client.execute_command("REPLICAOF", "NO", "ONE")
    fleet.beat()
    fleet.raise_flag("go")
    assert (fleet.ended(long)["output"], fleet.ended(fetched)["output"]) == ({"a": 1, "b": 1}, {"c": 1})
    assert fleet.tried(long, "a") == fleet.tried(long, "b") == ["succeeded"]
    assert worker.popen.poll() is None


def test_a_worker_started_before_its_servers_works_when_they_are_there(
    fleet: Fleet, orchestrator_servers: ServerUrls
) -> None:
    name = make_url(fleet.database_url).database
    server = Database.connect(orchestrator_servers.database_url)

    def allow(answer: str) -> None:
        with server.transaction() as conn:
            conn.execute(text(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {answer}'))

    fleet.engine.db.close()
    allow("false")
    worker, beat = fleet.start_only("worker", ["-c", "1"]), fleet.start_only("beat")
    wait_for(lambda: all("goes on when it answers" in process.said() for process in (worker, beat)), 100)
    allow("true")
    server.close()
    assert fleet.ended(fleet.start([spanning(fleet)]))["output"] == {"a": 1}
    wait_for(lambda: fleet.rows("SELECT FROM workers WHERE pid = :pid", pid=worker.pid))


def test_a_paused_run_starts_nothing_though_its_message_is_delivered(fleet: Fleet) -> None:
    run_id = fleet.start([spanning(fleet)])
    with fleet.engine.db.transaction() as conn:
        conn.execute(
            text("UPDATE workflow_runs SET status = 'paused', paused_at = now() WHERE id = :id"), {"id": run_id}
        )
    fleet.worker()
    wait_for(lambda: fleet.engine.transport.depth("default") == 0)
    other = fleet.start([spanning(fleet, "b")])
    fleet.ended(other)
    assert {event["step"] for event in fleet.events()} == {"b"}
