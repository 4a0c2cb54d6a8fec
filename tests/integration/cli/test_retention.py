"""How long runs are kept, and what `gc` removes."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli, work_off

ONE = document(step("a"), name="one")
FAILS = document(step("a", function="fail"), name="fails")


@pytest.fixture
def old(cli: Cli, hands: Hands) -> list[str]:
    """Three runs that have ended 40 days ago, and one today."""
    made = [hands.start(ONE), hands.start(ONE), hands.start(FAILS), hands.start(ONE)]
    work_off(hands)
    with hands.db.transaction() as conn:
        conn.execute(
            text("""
UPDATE workflow_runs SET id = CAST(id AS uuid), finished_at = now() - interval '40 days'
WHERE id = ANY(CAST(:ids AS uuid[]))"""),
            {"ids": made[:3]},
        )
    return made


def left(cli: Cli) -> list[str]:
    return [run["id"] for run in cli("runs", "--json").json["items"]][::-1]


def test_nothing_is_removed_until_a_rule_says_so(cli: Cli, old: list[str]) -> None:
    said = cli("gc")
    assert (said.code, said.out) == (0, "")
    assert "no rule says that runs may go: orchestrator retention set --keep 90d" in said.err
    listed = cli("retention", "list")
    assert "so they are kept for ever" in listed.err
    assert "until they are refused" in listed.out
    made = cli("retention", "set", "--keep", "30d", "--newest", "1", "--reason", "law").out
    assert "30 d, and the newest 1" in made
    assert cli("retention", "set", "--workflow", "FAILS", "--forever", "--json").json["items"][0] | {
        "changed_at": "", "changed_by": ""
    } == {
        "what": "runs", "workflow": "FAILS", "app": None, "status": None, "keep_seconds": None, "keep_newest": None,
        "changed_at": "", "changed_by": "", "default": False,
    }  # fmt: skip
    shown = cli("gc", "--dry-run", "--json").json
    assert shown["items"] == [{"workflow": "one", "app": "default", "status": "succeeded", "runs": 2}]
    assert (shown["dry_run"], shown["count"], shown["rows"]) == (True, 2, 0)
    assert left(cli) == old
    said = cli("gc", "--json")
    assert (said.json["count"], said.json["runs"]) == (2, 2)
    assert said.json["rows"] > 4
    assert left(cli) == old[2:]
    actions = [entry["action"] for entry in cli("audit", "--json").json["items"]]
    assert actions[:3] == ["gc", "set_retention", "set_retention"]
    assert cli("retention", "delete", "--workflow", "fails").code == 0
    assert cli("retention", "delete", "--workflow", "fails").code == 3


def test_runs_of_an_age_go_without_a_rule_when_somebody_agrees(cli: Cli, old: list[str]) -> None:
    asked = cli("gc", "--older-than", "0s", "--workflow", "one")
    assert asked.code == 2
    assert "--yes acts on these runs without asking" in asked.err
    said = cli("gc", "--older-than", "0s", "--workflow", "one", "--status", "failed", "--yes")
    assert "0 runs removed" in said.err
    said = cli("gc", "--older-than", "0s", "--status", "failed", "--yes", "--reason", "tidy")
    assert (said.code, said.out.split()) == (
        0,
        ["WORKFLOW", "APP", "STATUS", "RUNS", "fails", "default", "failed", "1"],
    )
    assert "1 run removed" in said.err
    assert left(cli) == [*old[:2], old[3]]
    for wrong in (["--older-than", "30"], ["--workflow", "one"], ["--older-than", "1d", "--status", "running"]):
        assert cli("gc", *wrong).code == 2
    assert cli("gc", "--older-than", "1d", "--workflow", "oen", "--dry-run").code == 3


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--keep", "30d", "--forever"],
        ["--keep", "30"],
        ["--newest", "-1"],
        ["--what", "audit_lgo", "--keep", "1d"],
        ["--what", "audit_log", "--keep", "1d", "--workflow", "one"],
    ],
)
def test_a_rule_that_means_nothing_is_refused(shared_cli: Cli, args: list[str]) -> None:
    assert shared_cli("retention", "set", *args).code == 2


def test_histories_are_kept_as_long_as_is_said(cli: Cli, hands: Hands) -> None:
    def entries() -> int:
        with hands.db.transaction() as conn:
            return int(conn.execute(text("SELECT count(*) FROM audit_log WHERE actor = 'old'")).scalar_one())

    with hands.db.transaction() as conn:
        conn.execute(
            text("""
INSERT INTO audit_log (at, actor, action, target_kind, target_id)
SELECT now() - make_interval(days => n), 'old', 'x', 'run', 'x' FROM generate_series(1, 20) AS n""")
        )
    cli("gc")
    assert entries() == 20
    assert "audit_log" in cli("retention", "set", "--what", "audit_log", "--keep", "10d").out
    assert cli("gc", "--json").json["histories"]["audit_log"] == 11
    assert entries() == 9


def test_chosen_runs_are_deleted(cli: Cli, hands: Hands, old: list[str]) -> None:
    shown = cli("runs", "delete", "--workflow", "one", "--dry-run")
    assert shown.out.startswith("3 runs to delete: 3 succeeded")
    assert cli("runs", "delete", old[0], "--reason", "test").out == f"{old[0]} is removed\n"
    assert cli("runs", "delete", old[0]).code == 3
    waiting = hands.start(ONE)
    said = cli("runs", "delete", waiting)
    assert (said.code, "only one that has ended can be removed" in said.err) == (2, True)
    items = cli("runs", "delete", "--workflow", "one", "--yes", "--json").json["items"]
    assert [(item["id"], item["status"], item["done"]) for item in items] == [
        (run_id, None, "is removed") for run_id in (old[3], old[1])
    ]
    assert left(cli) == [old[2], waiting]
    assert cli("runs", "--status", "failed", "delete", old[2]).code == 2
