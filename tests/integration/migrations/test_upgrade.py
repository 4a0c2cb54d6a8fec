from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from orchestrator.errors import Unreachable
from orchestrator.store import migrate
from orchestrator.store.db import Database


def test_an_empty_database_has_everything_to_do(empty_database: str) -> None:
    state = migrate.check(empty_database)
    assert (state.current, state.pending[0], state.pending[-1]) == (None, "0001", state.head)
    assert not state.ready


def test_upgrading_reaches_the_head_and_then_does_nothing(empty_database: str) -> None:
    assert migrate.upgrade(empty_database)[0] == "0001"
    assert migrate.upgrade(empty_database) == []
    state = migrate.check(empty_database)
    assert (state.current, state.pending, state.ready) == (state.head, (), True)


def test_upgrades_at_once_do_each_revision_once(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait ask all the time: an index that is built concurrently must not wait for them."""
    monkeypatch.setattr(migrate, "_POLL_SECONDS", 0.0)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(migrate.upgrade, [empty_database] * 4))
    assert sorted(map(len, done))[:3] == [0, 0, 0]
    assert migrate.check(empty_database).ready


def test_a_later_releases_schema_is_usable_and_left_alone(db: Database, database_url: str) -> None:
    with db.transaction() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert migrate.upgrade(database_url) == []
    state = migrate.check(database_url)
    assert (state.current, state.newer, state.ready) == ("9999", True, True)
    assert "newer" in str(state)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with pytest.raises(Unreachable, match="cannot reach Postgres"):
        migrate.check("postgresql+psycopg2://127.0.0.1:1/x", timeout=2)
