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
        click.option(
            "--item", type=click.IntRange(min=0), metavar="N", help="Whose question it is, of a step's items."
        ),
        click.argument("step"),
        click.argument("run"),
    ):
        command = add(command)
    return command


def answer(approved: bool, run: str, step: str, fields: Sequence[str], as_json: bool, **said: Any) -> None:
    """Decide, and tell who goes on with it. `said`: the other options of `answers`."""
    given = dict(map(_field, fields))
    with open_engine() as engine:
        decided = decide(engine, find(engine.db, run), step, approved, given, actor=actor(), **said)
    tell(decided, step, as_json)


def _field(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InvalidInput([Problem("", f"'{text}' is not NAME=VALUE")], "--field")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):  # what is no JSON is text
        return name, value
