"""`orchestrator db`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click
from rich.text import Text

from orchestrator.blobstore import blobs_of
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.options import common
from orchestrator.cli.output import console, print_json, print_lines
from orchestrator.cli.text import clean, plural
from orchestrator.config import Config
from orchestrator.services.check import Finding, Patience, Report
from orchestrator.services.check import check as look
from orchestrator.store import migrate
from orchestrator.store.db import Database


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
@click.option("--schema", "only_schema", is_flag=True, help="Look at the schema's version alone.")
@click.option(
    "--patience", type=click.FloatRange(0.0, 3600.0), default=10.0, show_default=True, help="Seconds until due is late."
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="At most so many a kind.")
@click.option("--blobs", is_flag=True, help="Look too whether what runs have put into the blob store is there.")
@common
def check(only_schema: bool, patience: float, limit: int, blobs: bool, as_json: bool) -> None:
    """Say whether the schema fits and all that is open will move.

    The database has to be at this version's schema, and every open step and every schedule to have something that
    will move it; exit code 1 when not.
    """
    config = Config.from_env(need=("database",))
    state = migrate.check(config.database_url)
    report = _look(config, patience, limit, blobs=blobs) if state.ready and not only_schema else None
    if as_json:
        print_json(asdict(state) | {"ready": state.ready} | ({} if report is None else _shown(report)))
    else:
        click.echo(str(state))
        if report is not None:
            print_lines(console(), _lines(report))
    if not state.ready or (report is not None and not report.healthy):
        raise Ended(Exit.RUN_FAILED)


def _look(config: Config, patience: float, limit: int, *, blobs: bool) -> Report:
    db = Database.connect(config.database_url, pool_size=1)
    try:
        of_runs = blobs_of(config) if blobs else None
        return look(db, Patience(patience, config.timeout_grace_seconds), most=limit, blobs=of_runs)
    finally:
        db.close()


def _shown(report: Report) -> dict[str, Any]:
    findings = [asdict(finding) for finding in report.findings]
    return {"healthy": report.healthy, "runs": report.runs, "steps": report.steps, "counts": report.counts} | {
        "findings": findings
    }


def _lines(report: Report) -> Iterator[Text]:
    looked_at = f"{plural(report.runs, 'open run')} with {plural(report.steps, 'open step')}"
    if report.healthy:
        yield Text(f"{looked_at}: each has something that will move it")
        return
    yield Text(f"{looked_at}: {plural(sum(report.counts.values()), 'finding')}", "bold")
    for finding in report.findings:
        yield Text(f"{_where(finding)}{clean(finding.what)} [{finding.kind}]")
        yield Text(f"  {clean(finding.todo)}", "dim")
    for kind, count in report.counts.items():
        told = sum(finding.kind == kind for finding in report.findings)
        if count > told:
            yield Text(f"and {count - told} more [{kind}]")


def _where(finding: Finding) -> str:
    if finding.run_id is None:
        return ""
    step = "" if finding.step is None else f", step '{clean(finding.step)}'"
    item = "" if finding.item is None else f", item {finding.item}"
    return f"run {finding.run_id}{step}{item}: "


def _database_url() -> str:
    return Config.from_env(need=("database",)).database_url
