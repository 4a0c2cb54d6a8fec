from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from orchestrator.store.db import Database


@pytest.fixture
def conn(module_db: Database) -> Iterator[Connection]:
    """A transaction that is rolled back after the test."""
    with module_db.engine.connect() as connection:
        outer = connection.begin()
        yield connection
        outer.rollback()
