"""Items of a step on the command line."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orchestrator.context import AttemptContext
from orchestrator.domain.items import index_of
from orchestrator.store.db import Database
from orchestrator.store.logs import LogLine, append_logs
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def odd_fails(x: int, ctx: AttemptContext) -> int:
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


@pytest.fixture
def worked(db: Database) -> Hands:
    return Hands(db, {"odd_fails": odd_fails})


def start(hands: Hands, **more: object) -> str:
    asked = {"items": "{{ range(30) | list }}", **more}
    each = step("each", function="odd_fails", with_items=asked, input={"x": "{{ item }}"})
    return hands.start(document(each, step("other")))


def test_show_lists_the_items_of_a_step(cli: Cli, worked: Hands) -> None:
    run_id = start(worked)
    worked.work()
    said = cli("show", run_id, "--step", "each", "--items")
    assert said.code == 0
    assert len(said.out.splitlines()) == 21
    assert "ValueError: 1 is odd" in said.out
    assert said.err == "there are more: --after 19\n"
    rest = cli("show", run_id, "--step", "each", "--items", "--status", "failed", "--after", "19", "--json").json
    assert (rest["run_id"], rest["step"], rest["next"]) == (run_id, "each", None)
    assert [item["index"] for item in rest["items"]] == [21, 23, 25, 27, 29]
    none = cli("show", run_id, "--step", "other", "--items")
    assert (none.code, none.out, none.err) == (0, "", "step 'other' has no items\n")


def test_show_says_how_the_items_of_a_step_are(cli: Cli, worked: Hands) -> None:
    run_id = start(worked)
    worked.work()
    said = cli("show", run_id, "--step", "each").out
    assert "15 succeeded, 15 failed" in said
    assert f"orchestrator show {run_id} --step each --items" in said
    assert "15 of 30 items failed; first item 1: ValueError: 1 is odd" in said
    assert "items" not in cli("show", run_id, "--step", "other").out


def test_a_step_that_waits_for_its_items_says_how_far_they_are(cli: Cli, worked: Hands) -> None:
    run_id = start(worked, concurrency=3)
    for _ in range(2):
        for one in worked.claim():
            worked.settle(one)
    assert "3 of 30 items have ended, 1 failed" in cli("show", run_id).out


def test_items_need_a_step(cli: Cli, worked: Hands) -> None:
    run_id = start(worked)
    assert cli("show", run_id, "--items").code == 2
    assert cli("logs", run_id, "--item", "3").code == 2


def test_logs_are_those_of_a_step_with_its_items_or_of_one(cli: Cli, worked: Hands) -> None:
    run_id = start(worked)
    for one in worked.claim():
        worked.settle(one)
    items = [one for one in worked.claim() if one.position > 100]
    with worked.db.transaction() as conn:
        for one in items[:3]:
            line = LogLine(NOW, "stdout", "INFO", f"said by {index_of(one.position)}")
            assert append_logs(conn, one.step_id, one.token, [line])
    index = index_of(items[1].position)
    all_lines = cli("logs", run_id, "each", "--json").json_lines
    assert len(all_lines) == 3
    assert {(line["step"], line["item"]) for line in all_lines} == {("each", index_of(i.position)) for i in items[:3]}
    (line,) = cli("logs", run_id, "each", "--item", index, "--json").json_lines
    assert line["message"] == f"said by {index}"
    assert f"each[{index}]#1" in cli("logs", run_id).out
    assert cli("logs", run_id, "other").out == ""
    missing = cli("logs", run_id, "each", "--item", 400)
    assert (missing.code, missing.err) == (3, "orchestrator: step 'each' has no item 400\n")


def test_show_tells_of_one_item_its_attempts_and_where_its_lines_are(cli: Cli, worked: Hands) -> None:
    each = step("each", function="odd_fails", with_items=[2, 3], input={"x": "{{ item }}"}, retry={"max_attempts": 2})
    run_id = worked.start(document(each, name="tried"))
    worked.work()
    said = cli("show", run_id, "--step", "each", "--item", "1").out
    assert said.startswith("✗ each[1] failed")
    assert said.count("✗ failed") == 2  # attempts
    assert f"orchestrator logs {run_id} each --item 1" in said
    told = cli("show", run_id, "--step", "each", "--item", "1", "--json").json
    assert (told["run_id"], told["step"], told["item"]["index"], told["item"]["item"]) == (run_id, "each", 1, 3)
    assert [(one["number"], one["outcome"]) for one in told["attempts"]] == [(1, "failed"), (2, "failed")]
    assert cli("show", run_id, "--why", "each", "--item", "0", "--json").json == {
        "run_id": run_id,
        "step": "each",
        "item": 0,
        "why": ["'each[0]' has ended: it is succeeded."],
    }
    missing = cli("show", run_id, "--step", "each", "--item", "7")
    assert (missing.code, missing.err) == (3, "orchestrator: step 'each' has no item 7\n")
    assert cli("show", run_id, "--item", "1").code == 2


def test_approve_and_reject_decide_for_an_item(cli: Cli, hands: Hands) -> None:
    ask = {"name": "each", "with_items": ["a", "b"], "wait_for": {"approval": {"title": "Pay {{ item }}?"}}}
    run_id = hands.start(document(ask, name="asks"))
    hands.work()
    listed = cli("approvals").out.splitlines()
    assert [line.split()[1:5] for line in listed[1:]] == [["each", "0", "Pay", "a?"], ["each", "1", "Pay", "b?"]]
    assert "asks for each of its items" in cli("approve", run_id, "each").err
    assert cli("approve", run_id, "each", "--item", "1").out == "item 1 of step 'each' goes on with it\n"
    assert cli("reject", run_id, "each", "--item", "0", "--json").json["item"] == 0
