"""What commands have in common that needs no database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from orchestrator.config import Config
from orchestrator.domain.limits import Limits

Command = TypeVar("Command", bound=Callable[..., Any])


def common(command: Command) -> Command:
    """The options every command has."""
    debug = click.option("--debug", is_flag=True, expose_value=False, hidden=True)
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return debug(as_json(command))


def limits() -> Limits:
    """How large a document may be, as configured."""
    config = Config.from_env(need=())
    return Limits(document_bytes=config.max_document_bytes, steps=config.max_steps)
