"""`orchestrator reject`."""

from __future__ import annotations

from typing import Any

import click

from orchestrator.cli.deciding import answer, answers


@click.command()
@answers
def reject(**said: Any) -> None:
    """Say no to an approval."""
    answer(False, **said)
