from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator import transport
from tests.integration.workers.fleet import Fleet
from tests.integration.workers.forks import ANSWER_SECONDS, Forks

# What a broker that stands still for a second does not take, a beat sends again; many tests have none.
_PATIENCE = 30.0


@pytest.fixture
def fleet(
    database_url: str, broker_url: str, tmp_path: Path, forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    """Workers and beats for this test; all of them are gone after it."""
    monkeypatch.setattr(transport, "_ANSWER_SECONDS", _PATIENCE)
    made = Fleet(database_url, broker_url, tmp_path, forks)
    made.environment[ANSWER_SECONDS] = str(_PATIENCE)
    yield made
    made.end()
