from __future__ import annotations

import json

import pytest

from orchestrator.up.console import Console


def test_every_line_is_an_object_where_logs_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=True)
    console.say("\nReady.\n  web  here")
    console.warn("beware")
    told = '{"time": "2026-11-30T10:00:00.000+00:00", "level": "INFO"}'
    console.child("worker", told)
    console.child("postgres", "no JSON")
    out, err = capsys.readouterr()
    first, whole, wrapped = out.splitlines()
    assert whole == told
    found = [json.loads(line) for line in (first, err, wrapped)]
    assert [(line["level"], line["logger"], line["event"]) for line in found] == [
        ("INFO", "orchestrator.up", "Ready.\n  web  here"),
        ("WARNING", "orchestrator.up", "beware"),
        ("INFO", "orchestrator.postgres", "no JSON"),
    ]
    assert all({"time", "pid"} <= set(line) for line in found)


def test_a_childs_line_has_its_name_in_front(capsys: pytest.CaptureFixture[str]) -> None:
    Console().child("web", "hello")
    assert capsys.readouterr().out == "web      | hello\n"
