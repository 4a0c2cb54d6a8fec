"""Start runs, list them, look at them, act on them."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest

from orchestrator.domain.tracing import trace_of
from orchestrator.store.db import Database
from orchestrator.store.workers import WorkerInfo, announce
from tests.documents import document, step
from tests.hands import LEASE, Hands, audited
from tests.hands import announce as announce_names
from tests.integration.cli.conftest import Cli, work_off

ORDER = document(step("charge"), step("ship", "charge"), name="order")
GREET = document(
    {"name": "greet", "pass": None, "input": "Hello {{ input.who }}"},
    name="hello",
    output={"said": "{{ steps.greet.output }}"},
)
FAILS = document(step("charge", function="fail"), step("ship", "charge"), name="order", tags=["eu"])


@pytest.fixture
def order(cli: Cli, tmp_path: Path) -> str:
    """A registered workflow."""
    path = tmp_path / "order.json"
    path.write_text(json.dumps(ORDER))
    assert cli("register", path).code == 0
    return "order"


def be_there(db: Database, *functions: str) -> None:
    """A worker is alive that knows these functions, `ok` by default."""
    with db.transaction() as conn:
        announce(conn, WorkerInfo("w", "worker", "host", 7, ["default"], 4, "prefork", "1"))
        announce_names(conn, *(functions or ("ok",)))


def test_start_prints_the_runs_id_and_nothing_else(cli: Cli, hands: Hands, order: str) -> None:
    be_there(hands.db)
    said = cli("start", order, "--input", '{"amount": 5}', "--tag", "eu", "--tag", "night")
    assert (said.code, said.err) == (0, "")
    run_id = said.out.strip()
    work_off(hands)
    view = cli("show", run_id, "--json").json["run"]
    assert (view["status"], view["input"], view["tags"]) == ("succeeded", {"amount": 5}, ["eu", "night"])


def test_start_says_when_nobody_can_run_its_steps(cli: Cli, db: Database, order: str) -> None:
    said = cli("start", order)
    assert (said.code, said.err) == (
        0,
        "no worker is alive, so its steps wait: orchestrator worker, or orchestrator up for all at once\n",
    )
    be_there(db, "okay")
    said = cli("start", order)
    assert said.code == 0
    assert said.err.startswith("no worker knows the function 'ok': start the workers with its module in")
    be_there(db)
    assert cli("start", order).err == ""


def test_start_where_nothing_is_registered_says_how_to_begin(cli: Cli) -> None:
    said = cli("start", "order")
    assert (said.code, said.err) == (3, "orchestrator: nothing is registered yet: orchestrator register FILE\n")


@pytest.mark.parametrize(
    ("given", "hint"),
    [("in.json", "a file is given as --input @in.json"), ("{x: 1}", """in double ones? --input '{"amount": 5}'""")],
)
def test_an_input_that_is_no_json_is_told_with_how_it_is_given(cli: Cli, given: str, hint: str) -> None:
    said = cli("start", "order", "--input", given)
    assert said.code == 2
    assert said.err.startswith("orchestrator: --input: it is not JSON")
    assert hint in said.err
    assert "--config '{" in cli("apps", "shop", "--config", "{x}").err


def test_start_with_a_key_used_before_gives_the_first_run(cli: Cli, order: str) -> None:
    first = cli("start", order, "--idempotency-key", "k")
    second = cli("start", order, "--idempotency-key", "k")
    assert (second.code, second.out) == (0, first.out)
    assert "had started it before" in second.err
    views = [cli("start", order, "--idempotency-key", key, "--json").json for key in ("k", "other")]
    assert [view["created"] for view in views] == [False, True]
    assert views[0]["id"] == first.out.strip()


@pytest.mark.parametrize("how", ["file", "stdin"])
def test_the_input_may_come_from_a_file_or_from_standard_input(cli: Cli, order: str, tmp_path: Path, how: str) -> None:
    (tmp_path / "in.json").write_text('\ufeff{"name": "名前"}')
    given = f"@{tmp_path / 'in.json'}" if how == "file" else "-"
    said = cli("start", order, "--json", "--input", given, stdin='{"name": "名前"}')
    assert said.json["input"] == {"name": "名前"}


def test_an_old_revision_can_be_started(cli: Cli, order: str, tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text(json.dumps(ORDER | {"label": "New"}))
    cli("register", tmp_path / "order.json")
    assert cli("start", order, "--json").json["revision"] == 2
    assert cli("start", order, "--json", "--revision", "1").json["revision"] == 1


def test_start_and_wait_gives_the_output(cli: Cli, hands: Hands) -> None:
    hands.start(GREET, {"who": "you"})
    said = cli("start", "hello", "--wait", "--input", '{"who": "Ann"}')
    run_id, output = said.out.split("\n", 1)
    assert (said.code, json.loads(output)) == (0, {"said": "Hello Ann"})
    view = cli("start", "hello", "--wait", "--json", "--input", '{"who": "Bob"}').json
    assert (view["status"], view["output"]) == ("succeeded", {"said": "Hello Bob"})
    assert view["id"] != run_id


def test_start_and_wait_exits_with_1_and_says_why_when_the_run_fails(cli: Cli, hands: Hands) -> None:
    hands.start(GREET | {"output": "{{ input.nothing }}"}, {"who": "you"})
    said = cli("start", "hello", "--wait", "--input", '{"who": "Ann"}')
    assert said.code == 1
    assert "the run failed: OutputError" in said.err
    assert f"orchestrator show {said.out.strip()}" in said.err


def test_a_broker_that_is_away_does_not_keep_a_run_from_being_started(
    cli: Cli, order: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://localhost:1")
    said = cli("start", order)
    assert said.code == 0
    assert cli("show", said.out.strip(), "--json").json["run"]["status"] == "running"
    assert any("wait for the broker" in record.message for record in caplog.records)


def test_runs_are_listed_newest_first_and_found_by_filters(cli: Cli, hands: Hands) -> None:
    failed = hands.start(FAILS)
    hands.work()
    running = hands.start(document(step("x"), name="other"))
    listed = cli("runs").out.splitlines()
    assert [running in listed[1], failed in listed[2]] == [True, True]
    assert "charge: no luck" in listed[2]

    def found(*filters: str) -> list[str]:
        return [item["id"] for item in cli("runs", "--json", *filters).json["items"]]

    assert found() == [running, failed]
    assert found("--status", "failed", "--status", "canceled") == [failed]
    assert found("--workflow", "ORDER", "--tag", "eu", "--error", "LUCK", "--since", "1h") == [failed]
    assert found("--until", "1h") == []
    assert found("--since", "2020-01-01", "--until", "2020-01-02T00:00:00Z") == []
    said = cli("runs", "--tag", "us")
    assert (said.code, said.out, said.err) == (0, "", "there is no such run\n")


def test_an_empty_list_says_how_to_begin(cli: Cli) -> None:
    said = cli("runs")
    assert (said.code, said.out) == (0, "")
    assert "orchestrator start NAME" in said.err
    assert cli("runs", "--json").json == {"items": [], "next": None}


def test_pages_of_runs_go_on_at_the_cursor(cli: Cli, hands: Hands) -> None:
    made = [hands.start(ORDER) for _ in range(3)]
    first = cli("runs", "--limit", "2", "--json").json
    second = cli("runs", "--limit", "2", "--json", "--after", first["next"]).json
    assert [item["id"] for item in first["items"] + second["items"]] == made[::-1]
    assert second["next"] is None
    assert f"--after {first['next']}" in cli("runs", "--limit", "2").err
    assert cli("runs", "--after", "x").code == 2


def test_a_failed_run_is_shown_with_why_and_what_to_do(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(FAILS, {"amount": 5})
    hands.work()
    said = cli("show", "latest")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("✗ order failed after ")
    assert lines[1] == "  why      step 'charge': RuntimeError: no luck"
    assert any(line.startswith("  charge  ✗ failed") and line.endswith("RuntimeError: no luck") for line in lines)
    assert any(line.startswith("  ship    ! upstream failed") and "needs 'charge'" in line for line in lines)
    assert f"orchestrator retry {run_id}" in said.out
    assert "\x1b" not in said.out


def test_a_run_is_shown_as_json_with_all_its_steps(cli: Cli, hands: Hands) -> None:
    steps = [step(f"s{i:03}") for i in range(250)]
    run_id = hands.start(document(*steps, name="wide"))
    shown = cli("show", "latest", "--json").json
    assert list(shown) == ["run", "steps"]
    assert shown["run"]["trace_id"] == trace_of(run_id, None)
    assert [item["name"] for item in shown["steps"]] == [item["name"] for item in steps]
    assert cli("show", "latest", "--json", "--status", "failed").json["steps"] == []


def test_a_big_run_is_shown_in_part_unless_all_or_a_state_is_asked_for(cli: Cli, hands: Hands) -> None:
    steps = [step(f"s{i:03}", function="fail" if i == 77 else "ok") for i in range(90)]
    hands.start(document(*steps, name="wide"))
    hands.work()
    assert "s077" in cli("show", "latest").out
    assert "s001" not in cli("show", "latest").out
    assert "89 steps more" in cli("show", "latest").out
    assert "s001" in cli("show", "latest", "--all").out
    assert "s001" in cli("show", "latest", "--status", "succeeded").out
    assert "✗ failed" not in cli("show", "latest", "--status", "succeeded").out


def test_a_step_that_waits_is_shown_with_what_it_waits_for(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(ORDER)
    lines = cli("show", run_id, "--step", "charge").out.splitlines()
    assert lines[0] == "◌ charge queued: waits in queue 'default'"
    assert "! no worker is alive that serves queue 'default': orchestrator worker --queues default" in lines
    assert cli("show", run_id, "--step", "ship").out.startswith("· ship pending: waits for charge\n")


def test_a_step_behind_busy_workers_says_so(cli: Cli, hands: Hands) -> None:
    hands.start(ORDER)
    (claimed,) = hands.claim()
    with hands.db.transaction() as conn:
        announce(conn, WorkerInfo(LEASE.worker_id, "worker", "host", 7, ["default"], 1, "prefork", "1"))
    hands.start(ORDER)
    told = "! every slot that serves queue 'default' is busy (1 of 1)"
    assert told in cli("show", "latest").out
    assert told in cli("show", "latest", "--step", "charge").out
    hands.settle(claimed)
    assert told not in cli("show", "latest").out


def test_a_step_is_shown_with_its_values_attempts_and_traceback(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(document(step("charge", function="fail", input={"message": "no [b]luck"}), name="order"))
    hands.work()
    said = cli("show", run_id, "--step", "charge")
    assert said.code == 0
    for words in ("✗ charge failed", '"message": "no [b]luck"', "RuntimeError: no [b]luck", "Traceback", "attempts"):
        assert words in said.out
    shown = cli("show", run_id, "--step", "charge", "--json").json
    assert (shown["run_id"], shown["step"]["name"], shown["attempts"][0]["outcome"]) == (run_id, "charge", "failed")


def test_a_run_nobody_works_on_says_so(cli: Cli, db: Database, hands: Hands) -> None:
    hands.start(ORDER)
    said = cli("show", "latest").out
    assert "! no worker is alive that serves queue 'default'" in said
    assert "! no coordinator is alive" in said
    with db.transaction() as conn:
        for kind, queues in (("worker", ["default"]), ("beat", [])):
            announce(conn, WorkerInfo(kind, kind, "host", 7, queues, 2, None, "0.1.0"))
    assert "alive" not in cli("show", "latest").out


def test_processes_are_listed(cli: Cli, db: Database) -> None:
    said = cli("workers")
    assert (said.code, said.out) == (0, "")
    assert "orchestrator up" in said.err
    with db.transaction() as conn:
        announce(conn, WorkerInfo("w1", "worker", "host[b]", 7, ["default", "io"], 2, "prefork", "0.1.0"))
    assert cli("workers").out.splitlines()[1].startswith("host[b]:7  worker  ✓ alive  0 of 2  default, io")
    assert cli("workers", "--json").json["items"][0]["id"] == "w1"


def test_runs_are_canceled_paused_resumed_and_retried_and_the_audit_log_says_by_whom_and_why(
    cli: Cli, db: Database, hands: Hands
) -> None:
    run_id = hands.start(FAILS)
    assert cli("pause", run_id, "--reason", "lunch").out == f"{run_id} is paused: running steps go on to their end\n"
    assert "lunch" in cli("show", run_id).out
    assert cli("resume", run_id[-8:]).out == f"{run_id} goes on\n"
    work_off(hands)
    assert cli("retry", "latest", "--reason", "bank is back").out == f"{run_id} goes on: 2 steps opened again\n"
    assert cli("cancel", run_id, "--reason", "enough").out == f"{run_id} is canceled\n"
    item = cli("retry", run_id, "--json").json["items"][0]
    assert item == {"id": run_id, "status": "running", "done": "goes on: 2 steps opened again", "error": None}
    with db.transaction() as conn:
        acts = [(reason, actor) for act in ("pause", "retry", "cancel") for actor, _, reason in audited(conn, act)]
    who = f"cli:{pwd.getpwuid(os.getuid()).pw_name}"
    assert acts == [("lunch", who), ("bank is back", who), (None, who), ("enough", who)]


def test_several_runs_are_paused_resumed_and_retried_at_once(cli: Cli, hands: Hands) -> None:
    made = [hands.start(FAILS), hands.start(FAILS)]
    assert cli("pause", *made).out.count(" is paused") == 2
    assert cli("resume", *made).out.count(" goes on") == 2
    work_off(hands)
    said = cli("retry", *made, "--json")
    assert [(item["id"], item["status"]) for item in said.json["items"]] == [(run_id, "running") for run_id in made]


def test_a_steps_page_counts_attempts_as_the_runs_page_does(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(document(step("charge", function="fail", retry={"max_attempts": 2}), name="order"))
    hands.work()
    cli("retry", run_id)
    work_off(hands)
    assert "4 of 4" in cli("show", run_id).out
    assert "  attempt  4 of 4\n" in cli("show", run_id, "--step", "charge").out


def test_running_steps_end_first_unless_the_cancel_is_forced(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(ORDER)
    hands.claim()
    assert cli("cancel", run_id).out == f"{run_id} is canceling: running steps end first\n"
    assert cli("cancel", run_id, "--force").out == f"{run_id} is canceled\n"


def test_secret_fields_are_masked_in_every_view(cli: Cli, hands: Hands) -> None:
    schema = {"properties": {"card": {"type": "string", "writeOnly": True}}}
    charge = step("charge", function="fail", input={"message": "card {{ input.card }} declined"})
    run_id = hands.start(document(charge, name="order", input_schema=schema), {"card": "4111-22"})
    hands.work()
    views = [["show", run_id], ["show", run_id, "--step", "charge"], ["runs"], ["watch", run_id], ["logs", run_id]]
    for view in views:
        for args in (view, [*view, "--json"]):
            said = cli(*args)
            assert "4111" not in said.out + said.err
            assert "declined" in said.out or view[0] == "logs"
