"""Queues that come into use while workers run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from kombu import Queue

from orchestrator.embedded.server import Server
from orchestrator.embedded.valkey import start_valkey
from orchestrator.store.db import Database
from orchestrator.store.workers import WorkerInfo
from tests.hands import Hands
from tests.integration.workers.fleet import Fleet
from tests.integration.workers.forks import Forks
from tests.processes import unused_port
from tests.support import wait_for
from workers import announce, queues
from workers.announce import Announcer, this_process
from workers.queues import Served


def queues_of(fleet: Fleet) -> list[str]:
    """What the only worker says it serves."""
    (row,) = fleet.rows("SELECT queues FROM workers")
    return list(row.queues)


def on(queue: str) -> list[dict[str, Any]]:
    return [{"name": "a", "function": "t.add", "input": {"a": 1}, "queue": queue}]


@pytest.mark.parametrize("pool", ["prefork", "solo", "threads"])
def test_a_worker_of_all_queues_runs_steps_on_one_that_came_into_use_after_its_start(fleet: Fleet, pool: str) -> None:
    fleet.worker(pool, QUEUES="*")
    assert queues_of(fleet) == ["*", "default"]
    assert fleet.ended(fleet.start(on("gpu")))["output"] == {"a": 2}
    wait_for(lambda: queues_of(fleet) == ["*", "default", "gpu"], what="the worker tells its queues")
    assert fleet.ended(fleet.start(on("{{ input.where }}"), {"where": "région 1"}))["output"] == {"a": 2}
    assert fleet.ended(fleet.start(on("default")))["output"] == {"a": 2}


def test_a_worker_of_named_queues_leaves_others_alone(fleet: Fleet) -> None:
    fleet.worker(QUEUES="default,io")
    other = fleet.start(on("gpu"))
    assert fleet.ended(fleet.start(on("io")))["output"] == {"a": 2}
    assert fleet.step(other, "a")["status"] == "queued"
    assert queues_of(fleet) == ["default", "io"]
    fleet.worker(QUEUES="*")
    assert fleet.ended(other)["output"] == {"a": 2}


def test_queues_that_were_found_are_served_again_when_the_broker_is_back(
    database_url: str, forks: Forks, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    port, folder = unused_port(), tmp_path / "valkey"

    def start_broker() -> Server:
        return start_valkey(folder, port, "secret", tmp_path / "valkey.log", databases=1, guardian=None)

    broker = start_broker()
    fleet = Fleet(database_url, f"redis://:secret@127.0.0.1:{port}/0", tmp_path, forks)
    request.addfinalizer(lambda: (fleet.end(), broker.stop(5)))
    fleet.beat()
    worker = fleet.worker(QUEUES="*")
    assert fleet.ended(fleet.start(on("gpu")))["status"] == "succeeded"
    broker.stop(5)
    again, new = fleet.start(on("gpu")), fleet.start(on("tpu"))
    wait_for(lambda: "Cannot connect" in worker.said())
    broker = start_broker()
    assert (fleet.ended(again)["output"], fleet.ended(new)["output"]) == ({"a": 2}, {"a": 2})
    assert worker.popen.poll() is None


class Consumer:
    """Celery's consumer as far as queues go. Takes names that `broker` takes; does at once what is to be done soon."""

    connection_errors = (ConnectionError,)

    def __init__(self, *refuses: str) -> None:
        self.app = Celery("test", set_as_current=False)
        self.app.conf.task_queues = [Queue("default")]
        self.task_consumer: object | None = object()
        self.blueprint = SimpleNamespace(human_state=lambda: "running")
        self.refuses, self.reconnects, self.asked = refuses, 0, list[str]()

    def call_soon(self, act: Callable[[str], None], name: str) -> None:
        self.asked.append(name)
        try:
            act(name)
        except self.connection_errors:
            self.reconnects += 1

    def add_task_queue(self, name: str) -> None:
        self.app.amqp.queues.select_add(name)
        if name in self.refuses:
            raise ValueError("a name no broker takes")


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db)


def serving(hands: Hands, consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> Served:
    """One that looks each time it is asked to."""
    monkeypatch.setattr(queues, "EVERY_SECONDS", 0.0)
    return Served(hands.engine.db, consumer, everything=True)


def document(*names: str) -> dict[str, Any]:
    return {"name": names[0], "steps": [{"name": name, "function": "t.add", "queue": name} for name in names]}


def test_a_queue_the_broker_refuses_is_asked_for_once_and_the_others_are_served(
    hands: Hands, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    consumer = Consumer("bad")
    served = serving(hands, consumer, monkeypatch)
    hands.start(document("bad", "gpu"))
    assert [served.look(), served.look()] == [True, False]
    assert served.names() == ["*", "default", "gpu"]
    assert (consumer.asked, consumer.reconnects) == (["bad", "gpu"], 1)
    assert "queue 'bad' cannot be served: a name no broker takes" in caplog.text


def test_queues_that_came_while_the_broker_was_away_are_asked_for_again(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = Consumer()
    served = serving(hands, consumer, monkeypatch)
    hands.start(document("gpu"))
    connected, consumer.task_consumer = consumer.task_consumer, None
    served.look()
    assert served.names() == ["*", "default"]
    consumer.task_consumer = connected
    assert served.look()
    assert served.names() == ["*", "default", "gpu"]


def test_news_are_told_at_once_and_else_every_few_seconds(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announce, "EVERY_SECONDS", 3600.0)
    served = serving(hands, Consumer(), monkeypatch)
    db = hands.engine.db
    told: list[list[str]] = []

    def describe() -> WorkerInfo:
        told.append(served.names())
        return this_process("me", "worker", queues=served.names())

    announcer = Announcer(db, describe, changed=served.look)
    announcer.announce()
    announcer.announce()
    hands.start(document("gpu"))
    announcer.announce()
    assert told == [["*", "default"], ["*", "default", "gpu"]]
