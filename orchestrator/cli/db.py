"""`orchestrator db`."""

from __future__ import annotations

from dataclasses import asdict

import click

from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.options import common
from orchestrator.cli.output import print_json
from orchestrator.cli.text import plural
from orchestrator.config import Config
from orchestrator.store import migrate


@click.group()
def db() -> None:
    """Upgrade or check the database."""


@db.command()
@common
def upgrade(as_json: bool) -> None:
    """Bring the database to this version's schema. Safe to run twice, or from several machines at once."""
    done = migrate.upgrade(_database_url())
    if as_json:
        print_json({"upgraded": done})
    elif done:
        click.echo(f"upgraded to revision {done[-1]} ({plural(len(done), 'step')})")
    else:
        click.echo("already at the latest revision")


@db.command()
@common
def check(as_json: bool) -> None:
    """Say whether the database is at this version's schema; exit code 1 when it is not."""
    state = migrate.check(_database_url())
    if as_json:
        print_json(asdict(state) | {"ready": state.ready})
    else:
        click.echo(str(state))
    if not state.ready:
        raise Ended(Exit.RUN_FAILED)


def _database_url() -> str:
    return Config.from_env(need=("database",)).database_url
