"""Workers, a beat and clients behind PgBouncer in transaction mode, with fewer connections than there are processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.services.signal import signal
from orchestrator.store.migrate import check, upgrade
from tests.integration.deploy.pgbouncer import CONNECTIONS, pgbouncer, server_connections
from tests.integration.workers.fleet import Fleet
from tests.integration.workers.forks import Forks
from tests.support import wait_for


@pytest.fixture
def pooled(database_url: str, broker_url: str, tmp_path: Path, forks: Forks) -> Iterator[Fleet]:
    """A fleet that reaches Postgres through PgBouncer alone."""
    with pgbouncer(database_url, tmp_path) as url:
        made = Fleet(url, broker_url, tmp_path, forks)
        yield made
        made.end()


def steps(fleet: Fleet) -> list[dict[str, Any]]:
    """A fan, a join, a retry, a wait for time and one for an event, and items."""
    fan: list[dict[str, Any]] = [{"name": f"f{n}", "function": "t.add", "input": {"a": n}} for n in range(20)]
    return [
        *fan,
        {"name": "join", "function": "t.add", "input": {"a": 1}, "depends_on": [step["name"] for step in fan]},
        {
            "name": "tried",
            "function": "t.fail_until",
            "input": {"file": fleet.flag("mend")},
            "retry": {"max_attempts": 1000, "delay": 0.1},
        },
        {"name": "slept", "sleep": 0.2},
        {"name": "approved", "wait_for": {"event": "go"}},
        {"name": "each", "function": "t.add", "input": {"a": "{{ item }}"}, "with_items": [1, 2, 3]},
    ]


def test_everything_works_with_a_few_connections_for_all(pooled: Fleet) -> None:
    pooled.worker(concurrency=3)
    pooled.worker("threads", concurrency=4)
    pooled.beat()
    runs = [pooled.start(steps(pooled)) for _ in range(3)]
    for run_id in runs:
        wait_for(lambda run_id=run_id: pooled.tried(run_id, "tried"), what="a failed attempt")
        signal(pooled.engine, run_id, "go", {"by": "me"})
    pooled.raise_flag("mend")
    assert {pooled.ended(run_id)["status"] for run_id in runs} == {"succeeded"}
    assert 0 < server_connections(pooled.database_url) <= CONNECTIONS


def test_a_database_is_made_through_it(empty_database: str, tmp_path: Path) -> None:
    with pgbouncer(empty_database, tmp_path) as url:
        assert upgrade(url)[0] == "0001"
        assert check(url).ready
