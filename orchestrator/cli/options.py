"""What commands have in common that needs no database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchestrator.config import Config
from orchestrator.domain.limits import Limits
from orchestrator.services.documents import document_limits

Command = TypeVar("Command", bound=Callable[..., Any])


def common(command: Command) -> Command:
    """The options every command has."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return as_json(command)


def paged(command: Command) -> Command:
    """The options of a command that lists one page."""
    after = click.option("--after", metavar="CURSOR", help="Go on where the last page ended.")
    most = click.IntRange(1, 1000)
    return click.option("--limit", type=most, default=20, show_default=True, help="At most so many.")(after(command))


def owned(command: Command) -> Command:
    """The options that say whose something is."""
    group = click.option("--group", metavar="NAME", help="Of this group of apps.")
    return click.option("--app", metavar="NAME", help="Of this app (default: ORCHESTRATOR_APP).")(group(command))


def limits() -> Limits:
    """How large a document may be, as configured."""
    return document_limits(Config.from_env(need=()))
