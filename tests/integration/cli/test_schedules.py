"""`schedule`, and what `show` and `runs` say of a scheduled run."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import text

from orchestrator.services.coordinate import tick
from orchestrator.services.register import register
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli


def test_a_schedule_is_set_listed_fired_paused_and_deleted(shared_cli: Cli, shared_hands: Hands) -> None:
    register(shared_hands.engine, document(step("a"), name="nightly"))
    assert shared_cli("schedule", "list").err.startswith("there is no such schedule")
    wrong = shared_cli("schedule", "set", "n", "--workflow", "nightly", "--cron", "61 * * * *", "--timezone", "Moon")
    assert (wrong.code, "cron: it has a bad minute" in wrong.err, "timezone" in wrong.err) == (2, True, True)
    told = ["schedule", "set", "n", "--workflow", "nightly", "--cron", "30 2 * * *", "--timezone", "Europe/London"]
    made = shared_cli(*told)
    assert (made.out.splitlines()[0], len(made.out.splitlines())) == ("schedule 'n' is made", 6)
    assert shared_cli(*told, "--json").json["changed"] is False
    every = shared_cli("schedule", "set", "N", "--every", "15min", "--catchup", "2h", "--tag", "t", "--json").json
    assert (every["interval_seconds"], every["cron"], every["catchup_seconds"], every["tags"]) == (
        900,
        None,
        7200,
        ["t"],
    )
    row = shared_cli("schedule", "list").out.splitlines()[1]
    assert row.split()[:6] == ["n", "nightly", "each", "15", "min", "active"]
    run_id = shared_cli("schedule", "fire", "n").out.strip()
    refused = shared_cli("schedule", "fire", "n")
    assert (refused.code, "overlap policy is skip" in refused.err) == (2, True)
    assert shared_cli("schedule", "fire", "n", "--force", "--json").json["run_id"] != run_id
    assert "schedule n, fire time 20" in shared_cli("show", run_id).out
    assert len(shared_cli("runs", "--schedule", "n", "--json").json["items"]) == 2
    assert shared_cli("runs", "--schedule", "m").code == 3
    assert [item["cause"] for item in shared_cli("schedule", "fires", "n", "--json").json["items"]] == ["manual"] * 2
    assert run_id in shared_cli("schedule", "fires", "n").out
    assert shared_cli("schedule", "pause", "n", "--reason", "lunch").out == "schedule 'n' is paused\n"
    assert "lunch" in shared_cli("schedule", "show", "n").out
    assert shared_cli("schedule", "list", "--standing", "active", "--json").json["items"] == []
    assert shared_cli("schedule", "resume", "n", "--json").json["paused"] is False
    assert "each 15 min " in shared_cli("schedule", "show", "n").out
    assert shared_cli("schedule", "delete", "n").out == "schedule 'n' is deleted\n"
    assert (shared_cli("schedule", "delete", "n").code, shared_cli("schedule", "show", "n").code) == (3, 3)
    assert shared_cli("show", run_id, "--json").json["run"]["schedule"] is None


def test_next_fire_times_of_an_expression_need_no_database(bare: Cli) -> None:
    asked = (
        "schedule",
        "next",
        "--cron",
        "30 2 * * *",
        "--timezone",
        "America/New_York",
        "--from",
        "2025-03-08T00:00Z",
    )
    assert bare(*asked, "--count", 3, "--json").json == {
        "items": [f"2025-03-{at}:00.000000+00:00" for at in ("08T07:30", "09T07:00", "10T06:30")]
    }
    assert "Sun 2025-03-09 03:00:00 -0400 America/New_York" in bare(*asked).out
    assert bare("schedule", "next").code == 2
    assert bare("schedule", "next", "--cron", "x").code == 2


def test_a_backfill_asks_first(shared_cli: Cli, shared_hands: Hands) -> None:
    register(shared_hands.engine, document(step("a"), name="nightly"))
    made = shared_cli("schedule", "set", "b", "--workflow", "nightly", "--every", "60", "--json").json
    # Five minutes before the one that a coordinator is to decide, whichever minute it is by now.
    first = datetime.fromisoformat(made["next_fire_at"]) - timedelta(minutes=5)
    asked = ("schedule", "backfill", "b", "--from", first.isoformat())
    refused = shared_cli(*asked)
    assert (refused.code, "--yes" in refused.err, "5 runs would start" in refused.out) == (2, True, True)
    assert shared_cli(*asked, "--dry-run", "--json").json["count"] == 5
    assert shared_cli(*asked, "--yes", "--at-once", "--json").json["dry_run"] is False
    with shared_hands.db.transaction() as conn:
        assert conn.execute(text("SELECT count(*) FROM schedule_fires WHERE status = 'started'")).scalar_one() == 5
    tick(shared_hands.engine)
    assert len(shared_cli("schedule", "next", "b", "--count", 2).out.splitlines()) == 2
