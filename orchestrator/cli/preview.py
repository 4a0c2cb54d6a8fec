"""Show the runs that filters have found before anything is done to them."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.marks import Signs, word
from orchestrator.cli.output import console, note, print_lines, width_of
from orchestrator.cli.runs import runs_table
from orchestrator.cli.text import plural
from orchestrator.errors import Conflict
from orchestrator.services.bulk import Found


def print_preview(found: Found) -> None:
    """How many there are, by status, and the first few."""
    screen = console()
    if not found.ids:
        note("there is no such run")
        return
    counts = ", ".join(f"{count:,} {word(status)}" for status, count in found.counts.items())
    lines = [Text(f"{plural(len(found.ids), 'run')} to {found.verb}: {counts}", "bold")]
    lines += runs_table(found.first, Signs.of(screen), width_of(screen), datetime.now(UTC))
    more = len(found.ids) - len(found.first)
    print_lines(screen, [*lines, Text(f"... and {more:,} more", "dim")] if more else lines)


def preview_json(found: Found) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "dry_run": True,
        "verb": found.verb,
        "count": len(found.ids),
        "counts": dict(found.counts),
        "first": list(found.first),
    }


def at_a_terminal() -> bool:
    """Whether somebody reads what is printed, and can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def agreed(found: Found, yes: bool, *, ask: bool) -> bool:
    """Whether to act: said beforehand, or asked for at the terminal. Raises `Conflict` where nobody can be asked."""
    return agreed_to(f"{found.verb.capitalize()} {plural(len(found.ids), 'run')}?", yes, ask=ask)


def agreed_to(question: str, yes: bool, *, ask: bool) -> bool:
    """The same for any question about runs."""
    if yes:
        return True
    if not ask or not at_a_terminal():
        raise Conflict("nothing was done: --yes acts on these runs without asking, --dry-run only shows them")
    if click.confirm(question, err=True):
        return True
    note("nothing was done")
    return False
