"""Where output goes: lines and JSON to stdout, notes to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from orchestrator.cli.text import UNSAFE, clean


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to main: rich would exit with 1, the code of a failed run."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console on stdout, or on stderr, that takes every text literally."""
    return _Console(markup=False, highlight=False, emoji=False, soft_wrap=True, stderr=stderr)


def width_of(screen: Console) -> int | None:
    """The terminal's width in cells; None where nobody sees the lines as lines (a pipe, a file)."""
    return screen.width if screen.is_terminal else None


def print_lines(screen: Console, lines: Iterable[Text]) -> None:
    """Print each line as it is, never wrapped or cut by the console."""
    for line in lines:
        screen.print(line, soft_wrap=True)


def print_json(value: Any) -> None:
    """One JSON value, indented."""
    click.echo(_escaped(json.dumps(value, ensure_ascii=False, indent=2)))


def print_done(value: Any, sentence: str, as_json: bool) -> None:
    """What an act has done: as JSON, or as a sentence."""
    if as_json:
        print_json(value)
    else:
        click.echo(sentence)


def print_json_line(value: Any) -> None:
    """One JSON value on a line of its own, at once: for streams."""
    click.echo(_escaped(json.dumps(value, ensure_ascii=False)))
    sys.stdout.flush()


def _escaped(text: str) -> str:
    """JSON text with what could steer a terminal in JSON's own escapes; the value stays the same."""
    return UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def note(message: str) -> None:
    """A remark for the person at the terminal, on stderr."""
    click.echo(clean(message), err=True)


def print_json_stream(head: dict[str, Any], name: str, items: Iterable[Any]) -> None:
    """One JSON object of `head` and the list `name`, whose items are written as they come."""
    opened = json.dumps(head, ensure_ascii=False, indent=2)[:-2]
    click.echo(_escaped(f'{opened},\n  "{name}": ['), nl=False)
    between = "\n"
    for item in items:
        click.echo(between + _escaped(_indented(item)), nl=False)
        between = ",\n"
    click.echo("\n  ]\n}")


def _indented(value: Any) -> str:
    return "\n".join(f"    {line}" for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n"))
