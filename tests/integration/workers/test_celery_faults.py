"""Faults that workflows on Celery are known for, and these have not; others are in the tests that docs/reliability.md
lists. One fleet for all: a beat and two workers of one process each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psutil
import pytest
import redis

from orchestrator import transport
from orchestrator.domain.celery_task import ANSWERS
from orchestrator.embedded import ServerUrls
from orchestrator.pytest_plugin import empty_broker
from orchestrator.services.cancel import cancel
from orchestrator.store.transition import Queued
from tests.integration.workers.fleet import Fleet, Process
from tests.integration.workers.forks import Forks
from tests.support import soaked, wait_for

BACKLOG = 20
EXECUTED, FAN = soaked(500, 100_000), soaked(500, 5_000)
WAITING = soaked(150, 100_000)


@pytest.fixture(scope="module")
def crew(
    orchestrator_module_database_url: str,
    orchestrator_servers: ServerUrls,
    tmp_path_factory: pytest.TempPathFactory,
    forks: Forks,
) -> Iterator[Fleet]:
    broker = empty_broker(orchestrator_servers)
    made = Fleet(orchestrator_module_database_url, broker, tmp_path_factory.mktemp("crew"), forks)
    made.beat()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "_ANSWER_SECONDS", 30.0)  # what the tests themselves send is sent by nobody else
        yield made
    made.end()


def test_a_cancel_that_no_worker_has_heard_of_holds_for_workers_that_come(crew: Fleet) -> None:
    """Celery keeps revoked tasks in the memory of its workers."""
    given = {"journal": crew.journal}
    doomed = crew.start([{"name": "canceled", "function": "t.span", "input": given}])
    (message,) = _queued(crew, doomed)
    cancel(crew.engine, doomed)
    crew.engine.transport.send("default", [message])
    staff(crew)
    after = crew.start([{"name": "after", "function": "t.span", "input": given}])
    assert crew.ended(after)["status"] == "succeeded"
    wait_for(lambda: crew.engine.transport.depth("default") == 0, what="the messages are taken")
    assert crew.events("start", "canceled") == []


def staff(crew: Fleet) -> list[Process]:
    """Its two workers, started by the first test that wants them; they have made all their queues."""
    while len(found := [process for process in crew.processes if "worker" in process.log.name]) < 2:
        crew.worker(concurrency=1, CONTINUATION_SECONDS="0")  # each step by its message
    with redis.Redis.from_url(crew.broker_url) as client:
        wait_for(lambda: client.exists(f"_kombu.binding.{ANSWERS}"), what="they listen for answers")
    return found


def test_a_step_that_is_delivered_again_while_it_runs_runs_once(crew: Fleet) -> None:
    """As after the visibility timeout: but nothing is left in the broker to be delivered again."""
    staff(crew)
    given = {"journal": crew.journal, "file": crew.flag("long")}
    run_id = crew.start([{"name": "long", "function": "t.wait", "input": given}])
    crew.wait_event("start", "long")
    ((step_id, token),) = crew.rows(
        "SELECT id, claim_token FROM workflow_run_steps WHERE run_id = :id AND status = 'running'", id=run_id
    )
    with redis.Redis.from_url(crew.broker_url) as client:
        # Acknowledged by the parent process, which hears of it as the function begins.
        wait_for(lambda: not any(step_id.encode() in value for value in client.hvals("unacked")), what="none is left")
    for _ in range(3):
        crew.engine.transport.send("default", [Queued(step_id, token)])
    wait_for(lambda: crew.engine.transport.depth("default") == 0, what="the messages are taken")
    crew.raise_flag("long")
    assert crew.ended(run_id)["status"] == "succeeded"
    crew.engine.transport.send("default", [Queued(step_id, token)])
    assert len(crew.events("start", "long")) == 1


def test_one_long_step_keeps_none_of_a_backlog_waiting(crew: Fleet) -> None:
    """A worker that is busy for hours has fetched one of them, and the other worker never runs out of work."""
    staff(crew)
    given = {"journal": crew.journal, "file": crew.flag("hours")}
    long = crew.start([{"name": "hours", "function": "t.wait", "input": given}])
    crew.wait_event("start", "hours")
    mine, left = spans(crew, 5), list[str]()

    def over_while_there_is_more() -> bool:
        """As long as it takes, the broker never runs out of messages."""
        depth = crew.engine.transport.depth("default")
        if depth is not None and depth < BACKLOG:
            left.append(spans(crew, BACKLOG))
        (row,) = crew.rows("SELECT finished_at FROM workflow_runs WHERE id = :id", id=mine)
        return row.finished_at is not None

    wait_for(over_while_there_is_more, 60, what="all five have ended, the one among them that was fetched")
    assert crew.events("end", "hours") == []
    crew.raise_flag("hours")
    assert {crew.ended(run_id)["status"] for run_id in (mine, long, *left)} == {"succeeded"}


def spans(crew: Fleet, count: int) -> str:
    """A run of so many short steps beside each other."""
    span = {"function": "t.span", "input": {"journal": crew.journal, "seconds": 0.05}}
    return crew.start([{"name": f"s{i}", **span} for i in range(count)])


@pytest.mark.timeout(soaked(120, 3600))
def test_steps_that_wait_are_in_no_workers_memory_and_nothing_grows_in_the_broker(crew: Fleet) -> None:
    """Celery holds what has a countdown in the memory of a worker, and results in a backend."""
    workers = [psutil.Process(process.pid) for process in staff(crew)]
    with redis.Redis.from_url(crew.broker_url) as client:
        keys, before = client.dbsize(), [_memory(worker) for worker in workers]
        fan = {"name": "nap", "sleep": 3600, "with_items": f"{{{{ range({WAITING}) | list }}}}"}
        run_id = crew.start([fan])
        wait_for(lambda: _waiting(crew, run_id) == WAITING, soaked(60, 1800), what="all of them wait")
        # A message may have been sent twice that was slow; and for a moment a worker has fetched one.
        wait_for(lambda: crew.engine.transport.depth("default") == 0, what="the messages are taken")
        wait_for(lambda: client.dbsize() <= keys + 1, what="the broker holds no more than before")
    for worker, size in zip(workers, before, strict=True):
        assert _memory(worker) < size + (30 << 20)
    cancel(crew.engine, run_id)
    assert crew.ended(run_id, soaked(40, 600))["status"] == "canceled"


@pytest.mark.timeout(soaked(120, 3600))
def test_what_has_been_executed_leaves_nothing_in_the_broker(crew: Fleet) -> None:
    """Celery's result backend keeps a key for each task."""
    staff(crew)
    with redis.Redis.from_url(crew.broker_url) as client:
        keys = set(client.keys("*"))
        for _ in range(EXECUTED // FAN):
            fan = {"name": "add", "function": "t.add", "input": {"a": "{{ item }}"}}
            run_id = crew.start([fan | {"with_items": f"{{{{ range({FAN}) | list }}}}"}])
            assert crew.ended(run_id, soaked(60, 600))["output"] == {"add": list(range(1, FAN + 1))}
        wait_for(lambda: crew.engine.transport.depth("default") == 0, what="the messages are taken")
        grown = {key for key in client.keys("*") if key not in keys and client.type(key) not in (b"list", b"none")}
    # What a worker of Celery has fetched and not acknowledged, for a moment.
    assert {key for key in grown if not key.startswith(b"unacked")} == set()


def _waiting(crew: Fleet, run_id: str) -> int:
    counted = (
        "SELECT count(*) FROM workflow_run_steps WHERE run_id = :id AND item_of IS NOT NULL AND status = 'waiting'"
    )
    return int(crew.rows(counted, id=run_id)[0][0])


def _memory(process: psutil.Process) -> int:
    """Bytes of the process and its pool."""
    return sum(one.memory_info().rss for one in (process, *process.children()))


def _queued(crew: Fleet, run_id: str) -> list[Queued]:
    found: list[Any] = crew.rows("SELECT id, claim_token FROM workflow_run_steps WHERE run_id = :id", id=run_id)
    return [Queued(row.id, row.claim_token) for row in found]
