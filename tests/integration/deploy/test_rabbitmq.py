"""Workers and a beat with RabbitMQ as their broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.deploy.mixed import mixed_runs_succeed
from tests.integration.deploy.rabbitmq import rabbitmq
from tests.integration.workers.fleet import Fleet
from tests.integration.workers.forks import Forks


@pytest.fixture
def queued(database_url: str, tmp_path: Path, forks: Forks) -> Iterator[Fleet]:
    """A fleet whose messages go through RabbitMQ."""
    with rabbitmq(tmp_path) as url:
        made = Fleet(database_url, url, tmp_path, forks)
        yield made
        made.end()


@pytest.mark.timeout(300)
def test_everything_works_with_it(queued: Fleet) -> None:
    queued.worker(concurrency=2)
    queued.beat()
    mixed_runs_succeed(queued)
