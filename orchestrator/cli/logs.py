"""`orchestrator logs`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click

from orchestrator.cli.loglines import log_line
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json_line, print_lines
from orchestrator.cli.session import find, open_database
from orchestrator.services.tail import Tail
from orchestrator.services.wait import read_status
from orchestrator.store.db import Database
from orchestrator.store.reads import Page, list_logs, load_secrets

_PAGE = 1000
_POLL_SECONDS = 0.5


@click.command()
@click.argument("run")
@click.argument("step", required=False)
@click.option("--item", type=click.IntRange(min=0), help="Only this item of the step, counted from 0.")
@click.option("--attempt", type=click.IntRange(min=1), help="Only this attempt.")
@click.option("--follow", "-f", is_flag=True, help="Go on until the run ends.")
@common
def logs(run: str, step: str | None, item: int | None, attempt: int | None, follow: bool, as_json: bool) -> None:
    """Show what a run's steps logged and printed.

    RUN is an id, a beginning or end of one, or 'latest'; STEP is a step's name. With --json each line is a JSON
    object of its own.
    """
    if item is not None and step is None:
        raise click.UsageError("--item goes with a step")
    with open_database() as db:
        run_id = find(db, run)
        screen = console()
        count = 0
        for line in _lines(db, run_id, _Of(step, item, attempt), follow):
            count += 1
            if as_json:
                print_json_line(line)
            else:
                print_lines(screen, [log_line(line, with_step=step is None)])
    if not count:
        note("nothing was logged or printed" + (f" by '{step}'" if step is not None else " by the steps of this run"))


@dataclass(frozen=True, slots=True)
class _Of:
    """Whose lines are wanted; None: of all."""

    step: str | None
    item: int | None
    attempt: int | None


def _lines(db: Database, run_id: str, of: _Of, follow: bool) -> Iterator[dict[str, Any]]:
    with db.transaction() as conn:
        secrets = load_secrets(conn, run_id)

    def fetch(after: int) -> Page:
        with db.transaction() as conn:
            return list_logs(conn, run_id, of.step, of.attempt, after, _PAGE, item=of.item, secrets=secrets)

    tail = Tail(fetch, time.monotonic)
    yield from tail.read()
    over = not follow
    while not over:
        over = read_status(db, run_id).terminal
        if not over:
            time.sleep(_POLL_SECONDS)
        yield from tail.read()
