"""`alert`."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from orchestrator.config import Config
from tests.integration.cli.conftest import Cli
from workers.alarm import Alarm

KEY = "k" * 16
URL = "https://hooks.example.com/T0/very-secret-part"


class _Takes(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        return


def test_a_rule_is_made_changed_shown_paused_and_deleted(shared_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared_cli("alert", "list").err.startswith("there is no such alert: orchestrator alert set NAME")
    monkeypatch.setenv("SECRET_KEY", KEY)
    given = ["--on", "run_failed", "--on", "run_late", "--late-after", "2h", "--tag", "vip", "--severity", "critical"]
    made = shared_cli(
        "alert", "set", "on-call", *given, "--webhook", URL, "--secret", "s3cret", "--email", "a@x.example"
    )
    assert (made.code, made.out) == (0, "alert 'on-call' is made\n")
    assert "orchestrator alert test" in made.err
    assert shared_cli("alert", "set", "on-call").out == "alert 'on-call' is as it was\n"
    changed = shared_cli("alert", "set", "on-call", "--repeat", "2h", "--email", "", "--tag", "", "--json").json
    assert (changed["repeat_seconds"], changed["emails"], changed["tags"], changed["created"]) == (7200, [], [], False)
    shown = shared_cli("alert", "show", "On-Call")
    assert "when: a run fails; a run is past its deadline, or open for 2 h" in shown.out
    assert "webhook: https://hooks.example.com/…, signed" in shown.out
    assert "very-secret-part" not in shown.out + made.out + str(changed)
    without = shared_cli("alert", "set", "on-call", "--webhook", "")
    assert (without.code, "give a webhook or an e-mail address" in without.err) == (2, True)
    wrong = shared_cli("alert", "set", "q", "--on", "queue_stuck", "--stuck-after", "1s", "--email", "nobody")
    assert (wrong.code, "from 10 to" in wrong.err, "plain address" in wrong.err) == (2, True, True)
    told = ["--on", "schedule_late", "--email", "a@x.example", "--all-apps", "--json"]
    assert shared_cli("alert", "set", "everywhere", *told).json["app"] is None
    listed = shared_cli("alert", "list", "--json").json["items"]
    assert [(one["name"], one["app"]) for one in listed] == [("everywhere", None), ("on-call", "default")]
    assert [one["name"] for one in shared_cli("alert", "list", "--severity", "critical", "--json").json["items"]] == [
        "on-call"
    ]
    assert shared_cli("alert", "pause", "on-call", "--reason", "lunch").out == "alert 'on-call' is paused\n"
    assert shared_cli("alert", "test", "on-call").code == 2
    assert shared_cli("alert", "resume", "on-call", "--json").json.keys() == {"id", "paused"}
    assert shared_cli("alert", "show", "on-cal").code == 3
    for name in ("on-call", "everywhere"):
        assert shared_cli("alert", "delete", name).code == 0


def test_a_test_waits_for_what_comes_of_it(shared_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", KEY)
    monkeypatch.setenv("ORCHESTRATOR_ALERT_SECONDS", "0.1")
    with HTTPServer(("127.0.0.1", 0), _Takes) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/T0/very-secret-part"
        shared_cli("alert", "set", "tried", "--on", "run_failed", "--webhook", url)
        alarm = Alarm(Config.from_env(os.environ))
        alarm.start()
        said = shared_cli("alert", "test", "tried")
        assert (said.code, "webhook" in said.out, "sent" in said.out) == (0, True, True)
        server.shutdown()
    failed = shared_cli("alert", "test", "tried", "--json")
    alarm.stop()
    assert (failed.code, failed.json["items"][0]["status"]) == (1, "waiting")
    assert "cannot be reached" in failed.json["items"][0]["error"]
    assert "cannot be reached" in shared_cli("alert", "deliveries", "tried").out
    assert [one["state"] for one in shared_cli("alert", "show", "tried", "--json").json["deliveries"]] == ["test"] * 2
    shared_cli("alert", "delete", "tried")
