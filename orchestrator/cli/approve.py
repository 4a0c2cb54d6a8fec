"""`orchestrator approve`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from orchestrator.cli.deciding import answer, answers


@click.command()
@answers
def approve(run: str, step: str, fields: Sequence[str], comment: str | None, as_json: bool) -> None:
    """Say yes to an approval."""
    answer(run, step, True, fields, comment, as_json)
