"""python.echo, and that all built-ins are registered."""

from __future__ import annotations

from orchestrator.functions import load_modules
from workers.functions.python import echo


def test_echo_gives_back_its_input() -> None:
    assert echo(a=1, b={"c": [None]}) == {"a": 1, "b": {"c": [None]}}


def test_one_module_registers_all_built_ins() -> None:
    registry = load_modules(["workers.functions"])
    for name in ("http.request", "shell.run", "sql.query", "python.echo", "email.send"):
        assert registry.find(name).description
