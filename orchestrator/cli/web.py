"""`orchestrator web`."""

from __future__ import annotations

import secrets
from dataclasses import replace

import click

from orchestrator.cli.become import become
from orchestrator.config import Config
from orchestrator.services.seal import PASSING
from orchestrator.up.commands import web_command


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address it listens on; 0.0.0.0 for all.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port it listens on (default: PORT, else 8000).")
@click.option("--threads", type=click.IntRange(min=1), default=8, show_default=True, help="Requests it serves at once.")
def web(host: str, port: int | None, threads: int) -> None:
    """Serve the web interface."""
    config = Config.from_env()
    if config.secret_key is None:
        click.secho("SECRET_KEY is not set: sessions of the web pages end with this process", fg="yellow", err=True)
    config = replace(config, port=port or config.port, secret_key=config.secret_key or PASSING + secrets.token_hex(32))
    become(web_command(config, host=host, threads=threads), config)
