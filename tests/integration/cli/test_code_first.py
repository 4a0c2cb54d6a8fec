"""A run of a function on the command line: show, why, journal, graph."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import orchestrator.examples.fulfillment  # noqa: F401 - registers the example
from orchestrator import testing
from orchestrator.cli.watch import Watcher
from orchestrator.domain.definition import Retry
from orchestrator.functions import registry
from orchestrator.services.register_code import register_code
from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from tests.coding import Coders
from tests.integration.cli.conftest import Cli, work_off


def shop(ctx: Any, input: Any) -> Any:
    """Sell something."""
    charge = ctx.step("charge", lambda amount: {"id": amount}, amount=input["amount"])
    ctx.now()
    pair = ctx.gather(ctx.start_call("double", {"n": 1}), ctx.start_call("double", {"n": 2}))
    ctx.spawn_child("shop-notice", {}, child_id="one")
    ok = ctx.wait_event("approved")
    return {"charge": charge, "pair": pair, "ok": ok}


def notice(ctx: Any, input: Any) -> Any:
    ctx.step("flaky", _fails, retry=Retry(max_attempts=3, delay=600))


def _fails() -> None:
    raise ConnectionError("no mail")


@pytest.fixture
def coders(module_db: Database) -> Coders:
    coders = Coders(module_db, {"double": lambda n: 2 * n})
    coders.know(notice, "shop-notice", version="1")
    return coders


@pytest.fixture
def run_id(coders: Coders) -> str:
    """A run that waits for its approval."""
    run_id = coders.begin(shop, {"amount": 5}, name="shop", version="3")
    coders.work()
    return run_id


def test_show_tells_the_steps_in_the_order_of_the_program_and_why_it_waits(run_id: str, shared_cli: Cli) -> None:
    shown = shared_cli("show", run_id)
    table = shown.out.split("  STEP ")[1].split("\n\n")[0].splitlines()[1:]
    names = [line.split()[0] for line in table]
    assert names == ["driver", "charge", "double", "double#2", "shop-notice", "approved"]
    assert "waits for approved" in shown.out
    assert "6 steps: 3 waiting, 3 succeeded" in shown.out
    assert "function tests.integration.cli.test_code_first:shop, version 3" in shown.out
    steps = {step["name"]: step for step in shared_cli("show", run_id, "--json").json["steps"]}
    assert (steps["charge"]["id"], steps["charge"]["output"]) == (None, {"id": 5})
    assert shared_cli("show", run_id, "--step", "charge").out.startswith("✓ charge succeeded")
    why = shared_cli("show", run_id, "--why", "driver").out.splitlines()
    assert why[0] == "'driver' waits for approved."
    assert why[1].startswith("'approved' waits for event 'approved'")
    child = shared_cli("show", run_id, "--tree", "--json").json["tree"][1]["id"]
    for step in ("flaky", "driver"):
        assert "'flaky' is retried in " in shared_cli("show", child, "--why", step).out
    assert [t["outcome"] for t in shared_cli("show", child, "--step", "flaky", "--json").json["attempts"]] == ["failed"]
    assert "did you mean 'charge'" in shared_cli("show", run_id, "--step", "chrage").err


def test_journal_lists_what_the_function_did_and_gives_a_history_to_test_with(
    run_id: str, coders: Coders, shared_cli: Cli, tmp_path: Path
) -> None:
    shown = shared_cli("journal", run_id)
    lines = shown.out.splitlines()
    assert lines[0].startswith("shop, version 3, tests.integration.cli.test_code_first:shop")
    assert [line.split()[:3] for line in lines[3:]] == [
        ["1", "step", "charge"],
        ["2", "now", "now"],
        ["3", "call", "double"],
        ["4", "call", "double#2"],
        ["5", "child", "shop-notice"],
        ["6", "event", "approved"],
    ]
    assert "test_code_first.py:" in shown.out
    said = shared_cli("journal", run_id, "--json")
    assert said.json["entries"][2]["output"] == 2
    (tmp_path / "shop.json").write_text(said.out)
    assert testing.replay(tmp_path / "shop.json", shop).status == "waits"
    with pytest.raises(testing.HistoryDiffers, match="shop.json: the code has changed: at entry 1 .* step 'charge'"):
        testing.replay(tmp_path / "shop.json", notice)
    child = coders.run(run_id)["id"]
    assert json.loads(said.out)["run_id"] == child
    assert shared_cli("journal", "latest").code == 0


def test_a_graph_is_drawn_from_what_was_done(run_id: str, shared_cli: Cli) -> None:
    drawn = shared_cli("graph", run_id, "--format", "dot").out
    edges = [line.strip() for line in drawn.splitlines() if "->" in line]
    assert len(edges) == 2 + 2 * 2  # both calls behind the charge; the child and the event behind both calls
    assert "driver" not in drawn


def test_workflows_show_where_a_function_is(run_id: str, shared_cli: Cli) -> None:
    shown = shared_cli("workflows", "SHOP").out
    assert "  function  tests.integration.cli.test_code_first:shop\n" in shown
    assert "  about     Sell something." in shown
    assert "revision  1, version 3, changed " in shown
    assert shared_cli("workflows", "shop", "--json").json["code"] == "tests.integration.cli.test_code_first:shop"
    listed = {item["name"]: item["code"] for item in shared_cli("workflows", "--json").json["items"]}
    assert listed["shop-notice"] == "tests.integration.cli.test_code_first:notice"
    assert shared_cli("workflows", "shpo").code == 3


def test_a_live_picture_grows_with_what_the_function_does(run_id: str, coders: Coders) -> None:
    watcher = Watcher(coders.db, run_id)
    drawn = [(line.position, len(line.guides)) for line in watcher.tree()]
    assert drawn == [(0, 0), (1, 0), (3, 1), (4, 1), (5, 0), (6, 0)]
    signal(coders.engine, run_id, "approved", True)
    coders.finish(run_id)
    watcher.look(10)
    assert watcher.over


def test_the_example_runs_on_the_engine_as_in_its_tests(coders: Coders, shared_cli: Cli) -> None:
    registered = {spec.name: spec for spec in registry.workflows}
    for name in ("fulfillment", "fulfillment-notice"):
        coders.engine.functions.workflows.put(registered[name])
        register_code(coders.engine, registered[name])
    printer = registry.find("example.fulfillment.label")
    coders.engine.functions.put(replace(printer, retry=None, call=_parcel, wants_context=False))
    order = {"id": "1", "email": "ada@example.org", "amount": 900}
    run_id = shared_cli("start", "fulfillment", "--input", json.dumps(order)).out.strip()
    work_off(coders)
    assert shared_cli("signal", run_id, "decision", '{"approved": true}').out == "step 'decision' goes on with it\n"
    work_off(coders)
    (child,) = shared_cli("show", run_id, "--tree", "--json").json["tree"][1:]
    coders.due(child["id"])
    assert coders.finish(run_id)["output"] == {"parcel": "parcel-1", "mails": 2}
    assert (
        testing.replay(shared_cli("journal", run_id, "--json").json, registered["fulfillment"].call).status
        == "succeeded"
    )


def _parcel(order: str) -> dict[str, str]:
    return {"parcel": f"parcel-{order}"}


def test_a_rehearsal_and_a_run_have_the_same_history(coders: Coders, shared_cli: Cli) -> None:
    def plain(ctx: Any, input: Any) -> Any:
        ctx.step("a", lambda: [1])
        ctx.gather(ctx.start_call("double", {"n": 1}), ctx.start_call("double", {"n": 2}))
        ctx.patched("p")
        return ctx.uuid()

    run_id = coders.begin(plain, {"x": 1}, name="plain")
    assert coders.finish(run_id)["status"] == "succeeded"
    stored = shared_cli("journal", run_id, "--json").json
    rehearsed = testing.run(plain, {"x": 1}, {"double": lambda n: 2 * n})
    keys = ("position", "verb", "name", "key", "line", "status", "output", "error")
    assert [{key: entry[key] for key in keys} for entry in stored["entries"]] == [
        {key: entry[key] for key in keys} for entry in rehearsed.history["entries"]
    ]
    assert testing.replay(stored, plain).output == coders.run(run_id)["output"]
    assert rehearsed.duration == timedelta()
    documented = shared_cli("journal", _document_run(coders))
    assert "no run of a code-first workflow" in documented.err


def test_secret_fields_of_a_run_and_its_children_are_not_shown(coders: Coders, shared_cli: Cli) -> None:
    secret = {"type": "object", "properties": {"pin": {"type": "string", "writeOnly": True}}}

    def child(ctx: Any, input: Any) -> Any:
        return {"pin": "9876-5432"}

    def parent(ctx: Any, input: Any) -> Any:
        ctx.step("echo", lambda pin: f"the pin is {pin}", input["pin"])
        return ctx.await_child(ctx.spawn_child("hides"))

    coders.know(child, "hides", output_schema=secret)
    run_id = coders.begin(parent, {"pin": "1234-5678"}, name="shows", input_schema=secret, output_schema=secret)
    assert coders.finish(run_id)["output"] == {"pin": "9876-5432"}
    for told in (shared_cli("journal", run_id, "--json"), shared_cli("show", run_id, "--json")):
        assert "the pin is ***" in told.out
        assert "1234-5678" not in told.out
        assert "9876-5432" not in told.out.split('"driver"')[0]


def _document_run(coders: Coders) -> str:
    return coders.start({"name": "document", "steps": [{"name": "a", "pass": True}]})
