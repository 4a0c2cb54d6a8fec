"""Sub-workflows on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from orchestrator.services.rerun import rerun
from orchestrator.store.reads import get_step
from tests.documents import document, step
from tests.families import below, levels, only_child, start_family
from tests.hands import Hands
from tests.integration.cli.conftest import Cli


def test_a_run_is_shown_with_the_runs_below_it(cli: Cli, hands: Hands) -> None:
    run_id = start_family(hands, *levels("top", "middle", "low"))
    hands.work()
    lines = cli("show", run_id, "--tree").out.splitlines()
    assert [line.split()[0] for line in lines] == ["WORKFLOW", "top", "middle", "low"]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 0, 3, 6]
    shown = cli("show", run_id, "--tree", "--json").json
    assert [(one["workflow"], one["level"], one["step"]) for one in shown["tree"]] == [
        ("top", 0, None),
        ("middle", 1, "down"),
        ("low", 2, "down"),
    ]
    assert (shown["run"]["id"], shown["more"]) == (run_id, False)


def test_runs_are_listed_by_their_parent_or_without_children(cli: Cli, hands: Hands) -> None:
    run_id = start_family(hands, *levels("top", "low"))
    hands.work()
    child = only_child(hands, run_id)
    assert [run["id"] for run in cli("runs", "--children-of", run_id, "--json").json["items"]] == [child]
    assert [run["id"] for run in cli("runs", "--roots-only", "--json").json["items"]] == [run_id]
    said = cli("runs", "--children-of", "0190")
    assert (said.code, "is not the whole id of a run" in said.err) == (2, True)


def test_pages_name_the_child_of_a_step_and_the_parent_of_a_run(cli: Cli, hands: Hands) -> None:
    run_id = start_family(hands, *levels("top", "low", leaf=step("leaf", function="fail")))
    for claimed in hands.claim():
        hands.settle(claimed)
    child = only_child(hands, run_id)
    assert f"waits for run {child} of 'low', which is running" in cli("show", run_id).out
    assert f"step 'down' of run {run_id}; it lies 1 deep" in cli("show", child).out
    hands.work()
    page = cli("show", run_id).out
    assert f"orchestrator show {child}" in page
    assert f"run {child} of 'low', which is failed" in cli("show", run_id, "--step", "down").out


def test_registering_a_parent_before_its_child_warns(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "top.json"
    path.write_text(json.dumps(document(below("down", "low"), name="top")))
    said = cli("register", path)
    assert said.code == 0
    assert "there is no workflow 'low' yet" in said.out + said.err


def test_a_step_kept_by_a_rerun_shows_the_child_it_had(cli: Cli, hands: Hands) -> None:
    parent = document(below("down", "low"), step("last", "down"), name="top")
    run_id = start_family(hands, parent, levels("low")[0])
    hands.work()
    again = rerun(hands.engine, run_id, from_steps="last").run_id
    with hands.db.transaction() as conn:
        assert get_step(conn, again, "down")["child_run_id"] == only_child(hands, run_id)
    assert cli("runs", "--children-of", again, "--json").json["items"] == []


def test_why_a_step_waits_is_told_down_to_the_run_that_keeps_it(cli: Cli, hands: Hands) -> None:
    leaf = {"name": "leaf", "wait_for": {"event": "paid"}}
    run_id = start_family(hands, *levels("top", "low", leaf=leaf))
    hands.work()
    child = only_child(hands, run_id)
    assert cli("show", run_id, "--why", "down", "--json").json["why"] == [
        f"'down' waits for run {child} of 'low', which is running.",
        "'leaf' waits for event 'paid'.",
    ]
