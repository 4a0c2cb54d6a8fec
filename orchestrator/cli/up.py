"""`orchestrator up`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from orchestrator.blobstore import check_blobs
from orchestrator.config import ALL_QUEUES, Config
from orchestrator.up.console import Console
from orchestrator.up.run import Options, run_up


@click.command()
@click.option(
    "--port", type=click.IntRange(1, 65535), help="Port of the web process (default: PORT or 8000, or the next free)."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address the web process listens on.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Steps the worker runs at once.")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Folder of the servers' data.")
@click.option("--example/--no-example", default=None, help="Run the example (default: at the first start).")
@click.option("--verbose", is_flag=True, help="Show all that the processes print, not warnings alone.")
def up(
    port: int | None, host: str, concurrency: int | None, data_dir: Path | None, example: bool | None, verbose: bool
) -> None:
    """Start everything on this machine.

    PostgreSQL and Valkey (from the package, unless DATABASE_URL and REDIS_URL or BROKER_URL name servers), a
    worker for every queue in use (unless ORCHESTRATOR_QUEUES names some), the coordinator and the web process.
    Ctrl-C stops it all; the data stays.
    """
    config = Config.from_env(need=(), queues=(ALL_QUEUES,))
    config = replace(
        config,
        port=port or config.port,
        concurrency=concurrency or config.concurrency,
        data_dir=(data_dir or config.data_dir).expanduser().absolute(),
    )
    check_blobs(config)
    console = Console(as_json=config.log_format == "json")
    for warning in config.warnings:
        console.warn(str(warning))
    run_up(config, Options(host=host, this_port=port is not None, example=example, verbose=verbose), console)
