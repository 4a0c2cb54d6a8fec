"""Workers, a beat and clients behind PgBouncer in transaction mode, with fewer connections than there are processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.store.migrate import check, upgrade
from tests.integration.deploy.mixed import mixed_runs_succeed
from tests.integration.deploy.pgbouncer import CONNECTIONS, pgbouncer, server_connections
from tests.integration.workers.fleet import Fleet
from tests.integration.workers.forks import Forks


@pytest.fixture
def pooled(database_url: str, broker_url: str, tmp_path: Path, forks: Forks) -> Iterator[Fleet]:
    """A fleet that reaches Postgres through PgBouncer alone."""
    with pgbouncer(database_url, tmp_path) as url:
        made = Fleet(url, broker_url, tmp_path, forks)
        yield made
        made.end()


def test_everything_works_with_a_few_connections_for_all(pooled: Fleet) -> None:
    pooled.worker(concurrency=3)
    pooled.worker("threads", concurrency=4)
    beat = pooled.beat()
    mixed_runs_succeed(pooled)
    assert 0 < server_connections(pooled.database_url) <= CONNECTIONS
    assert beat.said().count("behind a pooler, where nothing is heard") == 1
    assert [row.listening for row in pooled.rows("SELECT listening FROM workers WHERE kind = 'beat'")] == [False]


def test_a_database_is_made_through_it(empty_database: str, tmp_path: Path) -> None:
    with pgbouncer(empty_database, tmp_path) as url:
        assert upgrade(url)[0] == "0001"
        assert check(url).ready
