"""`orchestrator env`."""

from __future__ import annotations

import click

from orchestrator.cli.options import common
from orchestrator.cli.output import print_json
from orchestrator.cli.text import shell_word
from orchestrator.config import Config
from orchestrator.config_urls import psql_url


@click.command()
@common
def env(as_json: bool) -> None:
    """Print the URLs of the database and the broker.

    As a shell takes them, for other programs: eval "$(orchestrator env)". They hold passwords.
    """
    config = Config.from_env()
    broker = "BROKER_URL" if config.broker_url.startswith("amqp") else "REDIS_URL"
    urls = {"DATABASE_URL": psql_url(config.database_url), broker: config.broker_url}
    if as_json:
        print_json(urls)
        return
    for name, url in urls.items():
        click.echo(f"export {name}={shell_word(url)}")
