"""`orchestrator worker`."""

from __future__ import annotations

from dataclasses import replace

import click

from orchestrator.cli.become import become
from orchestrator.config import Config
from orchestrator.up.commands import worker_command


@click.command()
@click.option("--concurrency", type=click.IntRange(min=1), help="Steps it runs at once.")
@click.option("--queues", help="Queues it takes steps from, separated by commas; '*' for all in use.")
@click.argument("celery_options", nargs=-1)
def worker(concurrency: int | None, queues: str | None, celery_options: tuple[str, ...]) -> None:
    """Run a worker.

    It takes steps from the queues of ORCHESTRATOR_QUEUES and knows the functions of ORCHESTRATOR_FUNCTIONS.
    CELERY_OPTIONS, after --, go to `celery worker`, for instance: -- --pool=threads
    """
    config = Config.from_env()
    names = tuple(name.strip() for name in queues.split(",") if name.strip()) if queues else config.queues
    config = replace(config, concurrency=concurrency or config.concurrency, queues=names)
    become([*worker_command(config), *celery_options], config)
