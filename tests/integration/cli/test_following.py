"""`watch` and `logs`."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from orchestrator.cli import logs, watch
from orchestrator.domain.outcome import Outcome
from orchestrator.errors import Unreachable
from orchestrator.services.dispatch import dispatch
from orchestrator.services.settle import settle
from orchestrator.store.logs import LogLine, append_logs
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Meanwhile:
    """A clock for a command that waits: while it does, `act` happens instead."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def sleep(self, seconds: float) -> None:
        self._act()


def say(hands: Hands, messages: list[str]) -> None:
    """Claim what waits, log for it, and settle it."""
    for claimed in hands.claim():
        lines = [LogLine(NOW, "log", "INFO", message) for message in messages]
        lines.append(LogLine(NOW, "stdout", "INFO", "printed"))
        settled = settle(hands.engine, claimed, Outcome.succeeded(None, "null"), lines=lines)
        dispatch(hands.engine, settled.queues)


def test_a_run_is_watched_line_by_line_until_it_ends(cli: Cli, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    hands.start(document(step("charge"), step("ship", "charge"), name="order"))
    monkeypatch.setattr(watch, "time", Meanwhile(hands.work))
    said = cli("watch", "latest")
    lines = [line.split(" ", 1)[1] for line in said.out.splitlines()]
    assert said.code == 0
    assert lines[:2] == ["▸ order running", "◌ charge queued: waits in queue 'default'"]
    assert [line.rsplit(" ", 2)[0] for line in lines[2:]] == [
        "✓ charge succeeded,",
        "✓ ship succeeded,",
        "✓ order succeeded after",
    ]


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
    assert list(lines[0]) == ["id", "step", "item", "attempt", "at", "stream", "level", "message"]


def test_a_run_that_logged_nothing_says_so_on_stderr(cli: Cli, hands: Hands) -> None:
    hands.start(document(step("charge"), name="order"))
    said = cli("logs", "latest")
    assert (said.code, said.out) == (0, "")
    assert "nothing was logged" in said.err


def test_a_log_is_followed_until_the_run_ends(cli: Cli, hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    hands.start(document(step("charge"), step("ship", "charge"), name="order"))
    say(hands, ["before"])
    monkeypatch.setattr(logs, "time", Meanwhile(lambda: say(hands, ["after"])))
    said = cli("logs", "latest", "--follow")
    assert said.code == 0
    assert [line.split(" ", 1)[1] for line in said.out.splitlines()] == [
        "charge#1 INFO before",
        "charge#1 printed",
        "ship#1 INFO after",
        "ship#1 printed",
    ]


def test_watching_goes_on_while_postgres_is_away_for_a_moment(
    cli: Cli, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands.start(document(step("charge"), name="order"))
    answers = iter([None, Unreachable("gone"), Unreachable("gone")])
    real_look = watch.look

    def look(*args: object, **given: object) -> object:
        trouble = next(answers, None)
        if trouble is not None:
            raise trouble
        return real_look(*args, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(watch, "look", look)
    monkeypatch.setattr(watch, "time", Meanwhile(hands.work))
    assert cli("watch", "latest").code == 0
    assert next(answers, "all given") == "all given"


HOSTILE = ["a.b-c#1", "50%/x:y", "[bold]x[/]", "名前", "x" * 124, "-x", "'; --", "مرحبا بالعالم"]


@pytest.mark.parametrize("name", HOSTILE)
def test_every_command_copes_with_any_name(shared_cli: Cli, shared_hands: Hands, name: str) -> None:
    run_id = shared_hands.start(document(step(name, function="fail"), name=name))
    for claimed in shared_hands.claim():
        with shared_hands.db.transaction() as conn:
            append_logs(conn, claimed.step_id, claimed.token, [LogLine(NOW, "log", "INFO", name)])
        shared_hands.settle(claimed)
    said = {
        "runs": shared_cli("runs", "--workflow", name),
        "show": shared_cli("show", run_id),
        "step": shared_cli("show", run_id, f"--step={name}"),
        "watch": shared_cli("watch", run_id),
        "logs": shared_cli("logs", run_id, "--", name),
    }
    assert {key: one.code for key, one in said.items()} == dict.fromkeys(said, 0) | {"watch": 1}
    assert [key for key, one in said.items() if name not in one.out] == []
    for form in ("dot", "mermaid", "svg"):
        assert shared_cli("graph", run_id, "--format", form).code == 0
    assert shared_cli("start", "--", name).code == 0
    assert shared_cli("retry", run_id).code == 0
