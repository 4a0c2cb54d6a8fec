"""Verbs on the runs that filters find: shown first, asked about, told one by one."""

from __future__ import annotations

import click
import pytest

from orchestrator.cli import preview
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli, work_off

ONE = document(step("a"), name="one")
FAILS = document(step("a", function="fail"), name="fails", tags=["eu"])


def test_a_dry_run_shows_how_many_there_are_and_the_first_few(cli: Cli, hands: Hands) -> None:
    made = [hands.start(ONE) for _ in range(7)]
    cli("pause", made[0])
    said = cli("cancel", "--workflow", "one", "--dry-run")
    lines = said.out.splitlines()
    assert (said.code, said.err) == (0, "")
    assert lines[0] == "7 runs to cancel: 1 paused, 6 running"
    assert lines[-1] == "... and 2 more"
    assert all(run_id in said.out for run_id in made[2:])
    shown = cli("cancel", "--workflow", "one", "--dry-run", "--json").json
    assert (shown["dry_run"], shown["verb"], shown["count"]) == (True, "cancel", 7)
    assert shown["counts"] == {"paused": 1, "running": 6}
    assert [run["id"] for run in shown["first"]] == made[:1:-1]
    assert cli("runs", "--status", "running", "--json").json["items"][0]["id"] == made[-1]


def test_with_yes_it_acts_and_the_audit_log_finds_all_of_it(cli: Cli, hands: Hands) -> None:
    made = [hands.start(FAILS) for _ in range(2)]
    hands.work()
    said = cli("retry", "--error", "luck", "--tag", "eu", "--since", "1h", "--yes", "--reason", "bank is back")
    assert said.code == 0
    assert said.out.splitlines()[0] == "2 runs to retry: 2 failed"
    assert [f"{run_id} goes on: 1 step opened again" in said.out for run_id in made] == [True, True]
    assert said.err.startswith("2 of 2 done: orchestrator audit --bulk ")
    bulk_id = said.err.split()[-1]
    entries = cli("audit", "--bulk", bulk_id, "--json").json["items"]
    assert [(e["target_id"], e["reason"], e["bulk_id"]) for e in entries] == [
        (run_id, "bank is back", bulk_id) for run_id in made
    ]
    assert "nobody did anything in this bulk" in cli("audit", "--bulk", made[0]).err


def test_one_that_refuses_is_told_and_stops_no_other(cli: Cli, hands: Hands) -> None:
    made = [hands.start(ONE) for _ in range(3)]
    hands.work()
    last = hands.start(ONE)
    args = ["cancel", "--workflow", "one", "--status", "running", "--status", "succeeded", "--yes"]
    said = cli(*args)
    assert said.code == 2
    assert f"orchestrator: {made[0]}: the run is succeeded: it cannot be canceled" in said.err
    assert "1 of 4 done, 3 refused" in said.err
    told = cli(*args, "--json")
    assert told.code == 2
    assert (told.json["count"], told.json["counts"]) == (3, {"succeeded": 3})
    assert [item["error"] for item in told.json["items"]] == ["the run is succeeded: it cannot be canceled"] * 3
    assert cli("show", last, "--json").json["run"]["status"] == "canceled"


def test_every_verb_takes_filters(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(ONE)

    def acted(*args: str) -> list[str]:
        return [item["id"] for item in cli(*args, "--workflow", "ONE", "--yes", "--json").json["items"]]

    assert [acted(verb) for verb in ("pause", "resume", "cancel", "retry")] == [[run_id]] * 4
    assert acted("rerun") == []
    work_off(hands)
    assert acted("rerun", "--from", "a", "--input", "{}") == [run_id]


def test_where_nobody_can_be_asked_nothing_is_done_without_yes(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(ONE)
    for args in ([], ["--json"]):
        said = cli("cancel", "--workflow", "one", *args)
        assert said.code == 2
        assert said.err.startswith("orchestrator: nothing was done: --yes acts on these runs without asking")
    assert cli("show", run_id, "--json").json["run"]["status"] == "running"


@pytest.mark.parametrize(("answer", "status"), [(True, "canceled"), (False, "running")])
def test_at_a_terminal_it_asks(
    cli: Cli, hands: Hands, monkeypatch: pytest.MonkeyPatch, answer: bool, status: str
) -> None:
    run_id = hands.start(ONE)
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr(preview, "at_a_terminal", lambda: True)
    monkeypatch.setattr(click, "confirm", confirm)
    said = cli("cancel", "--workflow", "one")
    assert (said.code, asked) == (0, ["Cancel 1 run?"])
    assert ("nothing was done" in said.err) is not answer
    assert cli("show", run_id, "--json").json["run"]["status"] == status


def test_nothing_found_is_told_and_is_no_failure(cli: Cli, hands: Hands) -> None:
    hands.start(ONE)
    said = cli("cancel", "--tag", "none", "--yes")
    assert (said.code, said.out, said.err) == (0, "", "there is no such run\n")
    assert cli("cancel", "--tag", "none", "--yes", "--json").json["items"] == []
    assert cli("cancel", "--tag", "none").code == 0
    assert cli("cancel", "--workflow", "two", "--yes").code == 3


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume", "retry", "rerun"])
def test_runs_or_filters_are_given_and_not_both(cli: Cli, verb: str) -> None:
    assert "Give RUN..., or filters that find runs" in cli(verb).err
    assert "Give RUN..., or filters that find runs" in cli(verb, "--yes").err
    for args in (["--status", "failed"], ["--yes"], ["--dry-run"]):
        said = cli(verb, "latest", *args)
        assert (said.code, said.out) == (2, "")
        assert "Give RUN... or filters, not both" in said.err
