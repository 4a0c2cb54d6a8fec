"""`orchestrator beat`."""

from __future__ import annotations

import click

from orchestrator.cli.become import become
from orchestrator.config import Config
from orchestrator.up.commands import beat_command


@click.command()
def beat() -> None:
    """Run the coordinator.

    It starts what is due: retries, timers, deadlines, and steps whose worker or message was lost. One is enough;
    several do no harm.
    """
    config = Config.from_env()
    become(beat_command(config), config)
