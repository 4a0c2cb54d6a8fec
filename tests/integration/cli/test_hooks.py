"""`hook`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from orchestrator.data_folder import DataFolder
from orchestrator.domain.signatures import SIGNATURE_HEADER, TIME_HEADER, sign
from orchestrator.services.call_hook import Call, verify_call
from orchestrator.services.register import register
from orchestrator.services.seal import Seal
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli

KEY = "k" * 16


def test_a_hook_is_made_listed_switched_and_removed(
    shared_cli: Cli, shared_hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(shared_hands.engine, document(step("a"), name="called"))
    assert shared_cli("hook", "list").err.startswith("there is no hook")
    monkeypatch.delenv("SECRET_KEY", raising=False)
    keyless = shared_cli("hook", "create", "h", "--workflow", "called")
    assert (keyless.code, "SECRET_KEY" in keyless.err) == (2, True)
    monkeypatch.setenv("SECRET_KEY", KEY)
    made = shared_cli("hook", "create", "h", "--workflow", "called", "--input", '{"id": "{{ body.id }}"}')
    path, secret = made.out.splitlines()
    assert (path.startswith("/api/v1/hooks/"), secret[:4], "cannot be shown again" in made.err) == (True, "whs_", True)
    told = ["hook", "create", "g", "--event", "e", "--run", "{{ body.run }}", "--github", "--json"]
    assert shared_cli(*told).json.keys() == {"id", "name", "path", "secret"}
    assert shared_cli(*told).code == 2
    listed = shared_cli("hook", "list", "--json").json["items"]
    assert [(one["name"], one["scheme"], one["enabled"]) for one in listed] == [
        ("g", "github", True),
        ("h", "timed", True),
    ]
    assert [line.split()[:5] for line in shared_cli("hook", "list").out.splitlines()[1:]] == [
        ["g", "default", "sends", "e", "enabled"],
        ["h", "default", "starts", "called", "enabled"],
    ]
    id = path.rsplit("/", 1)[1]
    shown = shared_cli("hook", "show", id)
    assert path in shown.out
    assert "body.id" in shown.out
    assert shared_cli("hook", "disable", "h").out == "hook 'h' is disabled\n"
    assert shared_cli("hook", "show", "H", "--json").json["enabled"] is False
    assert shared_cli("hook", "enable", "h", "--json").json == {"id": id, "enabled": True}
    assert shared_cli("hook", "rotate", "h").out.splitlines()[1] != secret
    assert shared_cli("hook", "remove", "h", "--json").json == {"id": id}
    assert (shared_cli("hook", "remove", "h").code, shared_cli("hook", "show", "h").code) == (3, 3)


def test_the_key_of_an_up_in_the_data_folder_seals_too(
    shared_cli: Cli, shared_hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    folder = DataFolder(Path(os.environ["ORCHESTRATOR_DATA_DIR"]))
    folder.create()
    folder.write_private("secret_key", KEY)
    register(shared_hands.engine, document(step("a"), name="called"))
    made = shared_cli("hook", "create", "folder", "--workflow", "called", "--json").json
    now = int(time.time())
    signed = {TIME_HEADER: str(now), SIGNATURE_HEADER: sign(made["secret"], now, b"")}
    assert verify_call(shared_hands.engine, Seal(KEY), made["id"], Call(signed, b"")).hook.name == "folder"
