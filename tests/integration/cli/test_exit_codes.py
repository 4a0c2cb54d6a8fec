"""Every exit code, from every kind of trouble, in one sentence and without a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from orchestrator.cli import runs as runs_command
from orchestrator.cli.exits import Exit
from orchestrator.cli.main import COMMANDS
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli, Said

READS = [["runs"], ["show", "latest"], ["watch", "latest"], ["logs", "latest"], ["workers"], ["functions"], ["apps"]]
READS += [["workflows"], ["audit"]]
ACTS = [["cancel", "latest"], ["pause", "latest"], ["resume", "latest"], ["retry", "latest"], ["start", "order"]]
ACTS += [["rerun", "latest"], ["mark", "latest", "a", "skipped"], ["hold", "latest", "a"], ["release", "latest", "a"]]
ACTS += [["cancel", "--status", "running", "--yes"]]
NOBODY = "01234567-89ab-7cde-8f01-23456789abcd"


def assert_told(said: Said, code: int, *words: str) -> None:
    assert (said.code, said.out) == (code, "")
    assert all(word in said.err for word in words), said.err
    assert "Traceback" not in said.err
    assert len(said.err.splitlines()) <= 4


@pytest.mark.parametrize("args", [*READS, *ACTS, ["graph", "latest"]], ids=" ".join)
def test_without_a_server_there_is_nothing_to_reach(bare: Cli, args: list[str]) -> None:
    assert_told(bare(*args), 4, "DATABASE_URL: is not set", "orchestrator up")


@pytest.mark.parametrize("args", [*READS, *ACTS], ids=" ".join)
def test_a_server_that_is_away_cannot_be_reached(bare: Cli, monkeypatch: pytest.MonkeyPatch, args: list[str]) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://localhost:1/none")
    monkeypatch.setenv("REDIS_URL", "redis://localhost:1")
    assert_told(bare(*args), 4, "cannot reach Postgres")


def test_a_database_without_tables_says_how_to_make_them(cli: Cli, db: Database) -> None:
    with db.transaction() as conn:
        conn.execute(text("DROP SCHEMA public CASCADE"))
        conn.execute(text("CREATE SCHEMA public"))
    assert_told(cli("runs"), 4, "orchestrator db upgrade")


def test_a_wrong_setting_is_invalid(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://host/db")
    monkeypatch.setenv("PORT", "x")
    assert_told(bare("runs"), 2, "DATABASE_URL: 'mysql://' is not Postgres", "PORT: must be a whole number")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["shwo"], "no command 'shwo'. Did you mean 'show'?"),
        (["show"], "Missing argument 'RUN'"),
        (["runs", "--status", "broken"], "'broken' is not one of"),
        (["runs", "--since", "yesterday"], "'yesterday' is not a time"),
        (["runs", "--limit", "0"], "0 is not in the range"),
        (["start", "order", "--inptu", "1"], "No such option"),
        (["register", "x.yaml", "--app", "a", "--group", "b"], "one owner"),
        (["graph", "x.yaml", "--format", "png"], "'png' is not one of"),
        (["show", "\udcff"], "'\\udcff' is not valid UTF-8"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_told_with_what_would_be_right(bare: Cli, args: list[str], words: str) -> None:
    said = bare(*args)
    assert (said.code, said.out) == (2, "")
    assert words in said.err


@pytest.mark.parametrize("command", ["show", "watch", "logs", "graph", "cancel", "pause", "resume", "retry", "rerun"])
def test_a_run_that_is_not_there_is_not_found(shared_cli: Cli, command: str) -> None:
    assert_told(shared_cli(command, NOBODY), 3, f"there is no run {NOBODY}")
    assert_told(shared_cli(command, "latest"), 3, "there is no run yet")


@pytest.mark.parametrize("command", ["show", "watch", "logs", "cancel", "pause", "resume", "retry", "rerun"])
def test_what_cannot_be_a_run_is_invalid(shared_cli: Cli, command: str) -> None:
    assert_told(shared_cli(command, "no-run"), 2, "'no-run' is not a run's id")


def test_a_workflow_app_step_or_file_that_is_not_there_is_not_found(cli: Cli, hands: Hands, tmp_path: Path) -> None:
    hands.start(document(step("charge"), name="order"))
    assert_told(cli("start", "ordre"), 3, "no workflow 'ordre'; did you mean 'order'?")
    assert_told(cli("start", "order", "--app", "shop"), 3, "no app named 'shop'")
    assert_told(cli("start", "order", "--revision", "7"), 3, "no workflow 'order' with revision 7")
    assert_told(cli("start", "order", "--input", "@none.json"), 3, "no file 'none.json'")
    assert_told(cli("runs", "--workflow", "ordre"), 3, "did you mean 'order'?")
    assert_told(cli("show", "latest", "--step", "chrage"), 3, "no step 'chrage'; did you mean 'charge'?")
    assert_told(cli("logs", "latest", "chrage"), 3, "no step 'chrage'; did you mean 'charge'?")
    assert_told(cli("graph", "none.yaml"), 3, "no file 'none.yaml'")
    assert_told(cli("graph", "ordre"), 3, "no file or run 'ordre'", "no workflow 'ordre'; did you mean 'order'?")
    assert_told(cli("apps", "defualt"), 3, "no app named 'defualt'; did you mean 'default'?")
    assert cli("validate", tmp_path / "none.yaml").code == 3


def test_an_act_that_does_not_fit_the_runs_state_is_invalid(cli: Cli, hands: Hands) -> None:
    hands.start(document(step("charge"), name="order"))
    assert_told(cli("resume", "latest"), 2, "only a paused run can be resumed")
    assert_told(cli("retry", "latest"), 2, "only a failed or canceled run can be retried")
    hands.work()
    assert_told(cli("cancel", "latest"), 2, "cannot be canceled")
    assert_told(cli("pause", "latest"), 2, "only a running run can be paused")


@pytest.mark.parametrize(
    ("given", "words"),
    [('{"amount":', "not JSON"), ("[" * 100_000, "not JSON"), ('{"amount": "five"}', "input.amount"), ("[]", "input")],
    ids=["cut off", "too deep", "wrong type", "no map"],
)
def test_an_input_that_is_not_right_is_invalid_and_starts_nothing(
    cli: Cli, hands: Hands, given: str, words: str
) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "number"}}}
    hands.start(document(step("charge"), name="order", input_schema=schema))
    said = cli("start", "order", "--input", "-", stdin=given)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert len(cli("runs", "--json").json["items"]) == 1


def test_a_run_that_fails_is_the_one_thing_that_exits_with_1(cli: Cli, hands: Hands) -> None:
    hands.start(document(step("charge", function="fail"), name="order"))
    hands.work()
    assert cli("watch", "latest").code == 1
    assert cli("show", "latest").code == 0
    assert cli("runs").code == 0


def test_a_bug_is_a_sentence_and_its_traceback_is_there_when_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(runs_command, "list_runs", broken)
    assert_told(cli("runs"), Exit.UNEXPECTED, "unexpected ZeroDivisionError: by zero", "--debug")
    for args in (["runs", "--debug"], ["--debug", "runs"]):
        assert "Traceback" in cli(*args).err


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_takes_the_wish_for_a_traceback(bare: Cli, command: str) -> None:
    assert bare(command, "--debug", "--help").code == 0


def test_several_runs_end_with_the_worst_code_and_one_does_not_stop_the_others(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(document(step("charge"), name="order"))
    said = cli("cancel", NOBODY, run_id, "no-run", "--json")
    assert said.code == 3
    assert [(item["id"], item["status"], item["error"] is None) for item in said.json["items"]] == [
        (None, None, False),
        (run_id, "canceled", True),
        (None, None, False),
    ]
