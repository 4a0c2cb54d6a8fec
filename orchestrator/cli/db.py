"""`orchestrator db`."""

from __future__ import annotations

import dataclasses
import json

import click

from orchestrator.cli.exits import Ended, Exit
from orchestrator.config import Config
from orchestrator.store import migrate


@click.group()
def db() -> None:
    """Upgrade or check the database."""


@db.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def upgrade(as_json: bool) -> None:
    """Bring the database to this version's schema. Safe to run twice, or from several machines at once."""
    done = migrate.upgrade(_database_url())
    if as_json:
        click.echo(json.dumps({"upgraded": done}))
    elif done:
        click.echo(f"upgraded to revision {done[-1]} ({len(done)} step{'s' if len(done) > 1 else ''})")
    else:
        click.echo("already at the latest revision")


@db.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(as_json: bool) -> None:
    """Say whether the database is at this version's schema; exit code 1 when it is not."""
    state = migrate.check(_database_url())
    click.echo(json.dumps(dataclasses.asdict(state) | {"ready": state.ready}) if as_json else str(state))
    if not state.ready:
        raise Ended(Exit.RUN_FAILED)


def _database_url() -> str:
    return Config.from_env(need=("database",)).database_url
