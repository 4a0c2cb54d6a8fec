"""`orchestrator approve`."""

from __future__ import annotations

from typing import Any

import click

from orchestrator.cli.deciding import answer, answers


@click.command()
@answers
def approve(**said: Any) -> None:
    """Say yes to an approval."""
    answer(True, **said)
