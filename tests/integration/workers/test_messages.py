"""Messages are hints: lost, doubled, late or wrong, they change nothing."""

from __future__ import annotations

from typing import Any

import redis
from sqlalchemy import text

from orchestrator.ids import new_id, new_token
from orchestrator.store.transition import Queued
from orchestrator.transport import CeleryTransport
from tests.integration.workers.fleet import Fleet
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
