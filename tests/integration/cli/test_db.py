"""`db upgrade`, `db check`."""

from __future__ import annotations

from sqlalchemy import text

from orchestrator.store.db import Database
from tests.documents import document
from tests.hands import Hands
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


def test_a_database_in_which_nothing_is_lost_is_healthy_and_one_in_which_something_is_not(
    cli: Cli, db: Database
) -> None:
    sound = cli("db", "check", "--json")
    assert (sound.code, sound.json["healthy"], sound.json["runs"], sound.json["findings"]) == (0, True, 0, [])
    assert "0 open runs with 0 open steps: each has something that will move it" in cli("db", "check").out
    hands = Hands(db)
    run_id = hands.start(document({"name": "a", "sleep": 3600}, name="w"))
    hands.work()
    with db.transaction() as conn:
        conn.execute(text("UPDATE workflow_run_steps SET wake_at = NULL"))
    broken = cli("db", "check", "--patience", "0", "--json")
    assert broken.code == 1
    assert broken.json["counts"] == {"never_woken": 1, "no_coordinator": 1}
    assert [(f["run_id"], f["step"], f["kind"]) for f in broken.json["findings"]][0] == (run_id, "a", "never_woken")
    told = cli("db", "check", "--patience", "0")
    assert (told.code, f"run {run_id}, step 'a': it waits, and nothing says until when [never_woken]" in told.out) == (
        1,
        True,
    )
    assert cli("db", "check", "--schema").code == 0
