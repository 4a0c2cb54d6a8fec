"""What `approve` and `reject` have in common."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import click

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.options import common
from orchestrator.cli.session import find
from orchestrator.cli.signal import tell
from orchestrator.errors import InvalidInput, Problem
from orchestrator.services.decide import decide

Command = Callable[..., Any]


def answers(command: Command) -> Command:
    """The arguments and options of a decision."""
    for add in (
        common,
        click.option("--comment", metavar="TEXT", help="Why; everyone who looks sees it."),
        click.option("--field", "fields", multiple=True, metavar="NAME=VALUE", help="A field: JSON or text."),
        click.argument("step"),
        click.argument("run"),
    ):
        command = add(command)
    return command


def answer(run: str, step: str, approved: bool, fields: Sequence[str], comment: str | None, as_json: bool) -> None:
    """Decide, and tell who goes on with it."""
    given = dict(map(_field, fields))
    with open_engine() as engine:
        run_id = find(engine.db, run)
        decided = decide(engine, run_id, step, approved, given, comment=comment, actor=actor())
    tell(decided, step, as_json)


def _field(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput([Problem("", f"'{text}' is not NAME=VALUE")], "--field")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):  # what is no JSON is text
        return name, value
