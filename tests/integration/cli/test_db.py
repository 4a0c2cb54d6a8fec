"""`db upgrade`, `db check`."""

from __future__ import annotations

from sqlalchemy import text

from orchestrator.store.db import Database
from tests.integration.cli.conftest import Cli


def test_a_database_is_checked_upgraded_and_then_left_alone(cli: Cli, db: Database) -> None:
    with db.transaction() as conn:
        conn.execute(text("DROP SCHEMA public CASCADE"))
        conn.execute(text("CREATE SCHEMA public"))
    empty = cli("db", "check", "--json")
    assert (empty.code, empty.json["current"], empty.json["ready"], empty.json["newer"]) == (1, None, False, False)
    assert "run `orchestrator db upgrade`" in cli("db", "check").out
    assert cli("db", "upgrade", "--json").json == {"upgraded": empty.json["pending"]}
    assert cli("db", "upgrade").out == "already at the latest revision\n"
    full = cli("db", "check", "--json")
    assert (full.code, full.json["current"], full.json["pending"]) == (0, empty.json["head"], [])
