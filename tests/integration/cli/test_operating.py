"""Run again, mark, hold and release from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli, work_off

FAILS = document(step("charge", function="fail"), step("ship", "charge", input={"id": "{{ steps.charge.output }}"}))
CHAIN = document(step("a"), step("b", "a"), step("c", "b"))
NOBODY = "01234567-89ab-7cde-8f01-23456789abcd"


def test_a_rerun_prints_the_new_runs_id_and_both_runs_tell_of_it(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(CHAIN, {"n": 1})
    hands.work()
    said = cli("rerun", run_id, "--reason", "again")
    new_id = said.out.strip()
    assert (said.code, said.err) == (0, f"{run_id} runs again as {new_id}\n")
    view = cli("show", new_id, "--json").json["run"]
    assert (view["rerun_of"], view["input"], view["status"]) == (run_id, {"n": 1}, "running")
    assert f"  rerun of {run_id}\n" in cli("show", new_id).out
    (entry,) = cli("audit", "--run", run_id, "--json").json["items"]
    assert (entry["action"], entry["reason"], entry["data"]["run"]) == ("rerun", "again", new_id)


def test_a_rerun_from_a_step_says_what_it_keeps(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(CHAIN)
    hands.work()
    said = cli("rerun", run_id, "--from", "c")
    assert said.err == f"{run_id} runs again as {said.out.strip()}: 2 steps kept\n"
    lines = cli("show", said.out.strip()).out
    assert lines.count("kept from the earlier run") == 2
    assert "kept from the earlier run" in cli("show", said.out.strip(), "--step", "a").out
    work_off(hands)
    failed = hands.start(document(step("x", function="fail"), step("y")))
    hands.work()
    said = cli("rerun", failed, "--from", "y", "--json")
    (item,) = said.json["items"]
    assert (item["kept"], item["failing"], item["error"]) == (1, ["x"], None)
    assert "it will fail for 'x', kept as failed" in item["done"]


def test_a_rerun_takes_another_input_and_revision(cli: Cli, hands: Hands, tmp_path: Path) -> None:
    run_id = hands.start(CHAIN, {"n": 1})
    hands.start(CHAIN | {"label": "newer"})
    (tmp_path / "in.json").write_text('{"n": 2}')
    for args, revision, given in (
        ([], 1, {"n": 1}),
        (["--latest"], 2, {"n": 1}),
        (["--revision", "latest", "--input", f"@{tmp_path / 'in.json'}"], 2, {"n": 2}),
        (["--revision", "2", "--input", "{}"], 2, {}),
    ):
        (item,) = cli("rerun", run_id, "--json", *args).json["items"]
        view = cli("show", item["new_run_id"], "--json").json["run"]
        assert (view["revision"], view["input"]) == (revision, given)


def test_a_marked_step_lets_its_run_go_on(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(FAILS)
    hands.work()
    said = cli("mark", run_id, "charge", "succeeded", "--output", '{"id": 7}', "--reason", "paid by hand")
    assert (said.code, said.out) == (0, f"{run_id} 'charge' is succeeded: 1 other step opened again\n")
    assert "an operator marked it" in cli("show", run_id).out
    work_off(hands)
    shown = cli("show", run_id, "--json").json
    assert (shown["run"]["status"], shown["steps"][1]["input"]) == ("succeeded", {"id": {"id": 7}})
    assert shown["steps"][0]["reason"] == "marked"
    (entry,) = cli("audit", "--run", run_id, "--json").json["items"]
    assert (entry["action"], entry["reason"], entry["data"]["step"]) == ("mark", "paid by hand", "charge")


def test_a_held_step_is_shown_with_who_holds_it_and_why(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(CHAIN)
    said = cli("hold", run_id, "a", "--reason", "call first")
    assert (said.code, said.out) == (0, f"{run_id} 'a' is held: it does not start\n")
    cli("hold", run_id, "c")
    shown = cli("show", run_id).out
    assert "held by cli:" in shown
    assert ": call first; ready" in shown
    assert f"orchestrator release {run_id} a" in shown
    assert "no worker is alive that serves" not in shown
    assert "; waits for b" in shown
    assert cli("show", run_id, "--step", "a").out.startswith("○ a ready: held by cli:")
    held = cli("show", run_id, "--step", "a", "--json").json["step"]["held"]
    assert (held["reason"], held["by"].startswith("cli:"), bool(held["at"])) == ("call first", True, True)
    assert cli("release", run_id, "a").out == f"{run_id} 'a' is no longer held\n"
    work_off(hands)
    assert cli("release", run_id, "c", "--json").json["items"][0]["error"] is None
    work_off(hands)
    assert cli("show", run_id, "--json").json["run"]["status"] == "succeeded"
    assert [e["action"] for e in cli("audit", "--run", run_id, "--json").json["items"]] == ["release"] * 2 + [
        "hold"
    ] * 2


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["mark", "latest", "chrage", "succeeded"], 3, "the run has no step 'chrage'; did you mean 'charge'?"),
        (["mark", NOBODY, "charge", "succeeded"], 3, f"there is no run {NOBODY}"),
        (["mark", "nobody", "charge", "succeeded"], 2, "'nobody' is not a run's id"),
        (["mark", "latest", "charge", "failed"], 2, "'failed' is not one of 'succeeded', 'skipped'"),
        (["mark", "latest", "charge", "succeeded", "--output", "{x"], 2, "--output: it is not JSON"),
        (["mark", "latest", "charge", "succeeded", "--output", "@none.json"], 3, "no file 'none.json'"),
        (["mark", "latest", "charge", "skipped", "--output", "1"], 2, "a skipped step has none"),
        (["mark", "latest", "charge"], 2, "Missing argument"),
        (["hold", "latest", "chrage"], 3, "did you mean 'charge'?"),
        (["hold", "latest", "charge"], 2, "step 'charge' is failed: only a step that has not ended can be held"),
        (["release", "latest", "charge"], 2, "step 'charge' is not held"),
        (["release", NOBODY, "charge"], 3, f"there is no run {NOBODY}"),
        (["rerun", "latest", "--from", "chrage"], 3, "the workflow has no step 'chrage'; did you mean 'charge'?"),
        (["rerun", "latest", "--revision", "9"], 3, "workflow 'w' has no revision 9: its latest is 1"),
        (["rerun", "latest", "--revision", "newest"], 2, "'newest' is not a revision: give 'same', 'latest' or its"),
        (["rerun", "latest", "--revision", "1", "--latest"], 2, "say two different things"),
        (["rerun", "latest", "--input", "{x"], 2, "--input: it is not JSON"),
        (["rerun", NOBODY], 3, f"there is no run {NOBODY}"),
        (["audit", "--bulk", "x"], 2, "'x' is not the id of a bulk"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_does_not_fit_is_told_in_a_sentence(
    cli: Cli, hands: Hands, args: list[str], code: int, words: str
) -> None:
    hands.start(FAILS)
    hands.work()
    said = cli(*args)
    assert (said.code, said.out) == (code, "")
    assert words in said.err
    assert "Traceback" not in said.err


def test_a_refusal_is_told_as_json_too(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(CHAIN)
    hands.claim()
    said = cli("mark", run_id, "a", "skipped", "--json")
    told = "step 'a' is running: only force cuts it off and marks it"
    assert (said.code, json.loads(said.out)["items"]) == (
        2,
        [{"id": run_id, "status": "running", "done": None, "error": told}],
    )
    assert cli("mark", run_id, "a", "skipped", "--force").code == 0
