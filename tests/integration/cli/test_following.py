"""`watch` and `logs`."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime

import pytest

from orchestrator.domain.outcome import Outcome
from orchestrator.services.settle import settle
from orchestrator.store.db import Database
from orchestrator.store.logs import LogLine, append_logs
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli

log = logging.getLogger(__name__)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def say(hands: Hands, messages: list[str], *, end: bool = True) -> None:
    """Claim what waits, log for it, and settle it."""
    for claimed in hands.claim():
        lines = [LogLine(NOW, "log", "INFO", message) for message in messages]
        lines.append(LogLine(NOW, "stdout", "INFO", "printed"))
        if end:
            settle(hands.engine, claimed, Outcome.succeeded(None, "null"), lines=lines)
        else:
            with hands.db.transaction() as conn:
                append_logs(conn, claimed.step_id, claimed.token, lines)


def test_a_run_is_watched_line_by_line_until_it_ends(cli: Cli, hands: Hands) -> None:
    hands.start(document(step("charge"), step("ship", "charge"), name="order"))
    watching: list[str] = []

    worker = threading.Timer(1.0, hands.work)
    worker.start()
    said = cli("watch", "latest")
    worker.join()

    watching = [line.split(" ", 1)[1] for line in said.out.splitlines()]
    assert said.code == 0
    assert watching[0] == "▸ order running"
    assert watching[1] == "◌ charge queued: waits in queue 'default'"
    assert watching[-3].startswith("✓ charge succeeded, ")
    assert watching[-2].startswith("✓ ship succeeded, ")
    assert watching[-1].startswith("✓ order succeeded after ")


def test_a_run_that_has_ended_is_told_at_once(cli: Cli, hands: Hands) -> None:
    hands.start(document(step("charge", function="fail"), name="order"))
    hands.work()
    said = cli("watch", "latest")
    assert said.code == 1
    assert said.out.splitlines()[-1].endswith("step 'charge': RuntimeError: no luck")


def test_changes_are_watched_as_json_lines_that_end_with_the_run(cli: Cli, hands: Hands) -> None:
    run_id = hands.start(document(step("charge", function="fail"), name="order"))
    hands.work()
    charge, run = cli("watch", "latest", "--json").json_lines
    assert list(charge) == [
        "kind",
        "at",
        "run_id",
        "step",
        "status",
        "reason",
        "attempt",
        "max_attempts",
        "next_attempt_at",
        "progress",
        "error",
    ]
    assert (charge["kind"], charge["step"], charge["error"]["type"]) == ("step", "charge", "RuntimeError")
    assert (run["kind"], run["run_id"], run["status"], run["counts"]) == ("run", run_id, "failed", {"failed": 1})


def test_log_lines_are_shown_with_step_and_attempt(cli: Cli, hands: Hands) -> None:
    hands.start(document(step("charge"), step("ship", "charge"), name="order"))
    say(hands, ["first\nsecond", "[b]x[/] \x1b[31m"])
    out = cli("logs", "latest").out
    assert "charge#1 INFO first\n    second\n" in out
    assert "charge#1 INFO [b]x[/] \\x1b[31m\n" in out
    assert "charge#1 printed\n" in out
    assert cli("logs", "latest", "charge").out.count("\n") == 4
    assert " #1 printed" in cli("logs", "latest", "charge").out


def test_log_lines_are_chosen_by_attempt_and_told_as_json_lines(cli: Cli, hands: Hands) -> None:
    hands.start(document(step("charge"), name="order"))
    say(hands, ["one"])
    assert cli("logs", "latest", "--attempt", "2").out == ""
    lines = cli("logs", "latest", "--attempt", "1", "--json").json_lines
    assert [line["message"] for line in lines] == ["one", "printed"]
    assert list(lines[0]) == ["id", "step", "attempt", "at", "stream", "level", "message"]


def test_a_run_that_logged_nothing_says_so_on_stderr(cli: Cli, hands: Hands) -> None:
    hands.start(document(step("charge"), name="order"))
    said = cli("logs", "latest")
    assert (said.code, said.out) == (0, "")
    assert "nothing was logged" in said.err


def test_a_log_is_followed_until_the_run_ends(cli: Cli, hands: Hands, db: Database) -> None:
    hands.start(document(step("charge"), step("ship", "charge"), name="order"))
    say(hands, ["before"])

    def rest() -> None:
        hands.engine.transport.send("default", [])
        say(hands, ["after"])

    from_dispatch = hands.outbox
    assert from_dispatch.depth("default") == 0
    hands_on = threading.Timer(1.0, lambda: _finish(hands))
    hands_on.start()
    said = cli("logs", "latest", "--follow")
    hands_on.join()
    assert said.code == 0
    assert [line.split(" ", 1)[1] for line in said.out.splitlines()] == [
        "charge#1 INFO before",
        "charge#1 printed",
        "ship#1 INFO after",
        "ship#1 printed",
    ]


def _finish(hands: Hands) -> None:
    from_queue = hands.outbox.take()
    log.debug("left over: %s", from_queue)
    say(hands, ["after"])


@pytest.mark.parametrize(
    "name", ["a.b-c#1", "50%/x:y", "[bold]x[/]", "名前", "x" * 124, "-x", "'; --", "مرحبا بالعالم"]
)
def test_every_command_copes_with_any_name(cli: Cli, hands: Hands, name: str) -> None:
    run_id = hands.start(document(step(name, function="fail"), name=name))
    for claimed in hands.claim():
        with hands.db.transaction() as conn:
            append_logs(conn, claimed.step_id, claimed.token, [LogLine(NOW, "log", "INFO", name)])
        hands.settle(claimed)
    said = {
        "runs": cli("runs", "--workflow", name),
        "show": cli("show", run_id),
        "step": cli("show", run_id, f"--step={name}"),
        "watch": cli("watch", run_id),
        "logs": cli("logs", run_id, "--", name),
    }
    assert {key: one.code for key, one in said.items()} == dict.fromkeys(said, 0) | {"watch": 1}
    assert [key for key, one in said.items() if name not in one.out] == []
    for form in ("dot", "mermaid", "svg"):
        assert cli("graph", run_id, "--format", form).code == 0
    assert cli("start", "--", name).code == 0
    assert cli("retry", run_id).code == 0
