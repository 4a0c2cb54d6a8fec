"""The code of docs/client.md does what its comments say, and its tables name what is there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import pytest

from orchestrator import Orchestrator, RunHandle
from tests.architecture.pages import page
from tests.docs.test_examples import run_code

PAGE = page("docs/client.md")


def test_the_code_of_the_page_prints_what_it_says(
    database_url: str, broker_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", broker_url)
    for info, code in PAGE.blocks():
        assert info == "python client"
        run_code(code, "client")
        said = capsys.readouterr().out.splitlines()
        assert [line for line in re.findall(r"print\(.*\)  # (.+)", code) if line not in said] == []


def test_the_page_names_every_method_with_its_parameters() -> None:
    named = dict(re.findall(r"`(\w+)\(([^`]*)\)`", PAGE.prose))
    for kind in (Orchestrator, RunHandle):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                takes = [p for p in _parameters(method) if p != "self"]
                assert re.findall(r"\w+", re.sub(r"=\w+", "", named[name])) == takes, name
    assert {name for name in dir(RunHandle) if isinstance(getattr(RunHandle, name), property)} <= set(PAGE.inline)


def _parameters(method: Callable[..., Any]) -> list[str]:
    """The names of a method's parameters, those of an unpacked map by their own."""
    names = list(inspect.signature(method).parameters)
    kind = get_type_hints(method).get(names[-1])
    return [*names[:-1], *get_type_hints(get_args(kind)[0])] if get_origin(kind) is Unpack else names
