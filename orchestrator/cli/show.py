"""`orchestrator show`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
from rich.text import Text

from orchestrator.blobstore import configured_blobs
from orchestrator.cli.family import MOST, family_lines
from orchestrator.cli.itemlines import item_table
from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import console, note, print_json, print_json_stream, print_lines, width_of
from orchestrator.cli.runpage import RunPage, run_page
from orchestrator.cli.session import find, open_database, plan_of
from orchestrator.cli.steplines import Around
from orchestrator.cli.steppage import StepPage, step_page
from orchestrator.cli.text import clean
from orchestrator.domain.states import StepStatus
from orchestrator.services.look import look
from orchestrator.services.pages import every
from orchestrator.services.plans import Plans
from orchestrator.services.why import why
from orchestrator.store.db import Database
from orchestrator.store.reads import (
    get_brief,
    get_item,
    get_item_brief,
    get_run,
    get_step,
    last_logs,
    list_attempts,
    list_family,
    list_items,
    list_steps,
    list_workers,
    load_secrets,
    run_now,
    step_statuses,
)
from orchestrator.store.reads.trace import trace_id
from orchestrator.store.reads.whole import Read

_MOST = 60
_LOG_LINES = 15


@click.command()
@click.argument("run")
@click.option("--step", metavar="NAME", help="Show this step: its input, output, error, attempts and last log lines.")
@click.option("--why", "asked", metavar="STEP", help="Say why this step is not running, and what keeps that.")
@click.option("--item", type=click.IntRange(min=0), metavar="N", help="With --step or --why: of its item N (from 0).")
@click.option("--items", is_flag=True, help="With --step: list its items, page by page.")
@click.option("--all", "everything", is_flag=True, help=f"Show every step of a run of more than {_MOST}.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([s.value for s in StepStatus]),
    help="Only steps, or items, with this status; given twice, with either.",
)
@click.option("--full", is_flag=True, help="Fetch what lies in the blob store, and show it.")
@click.option("--tree", is_flag=True, help=f"Show the run and the runs below it, {MOST} at most, not its steps.")
@paged
@common
def show(
    run: str,
    step: str | None,
    asked: str | None,
    item: int | None,
    items: bool,
    everything: bool,
    statuses: Sequence[str],
    full: bool,
    tree: bool,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """Show a run, one of its steps, or the items of one.

    RUN is an id, a beginning or end of one, or 'latest'. A big run shows the steps that matter: failed, running,
    next.
    """
    wanted = [StepStatus(status) for status in statuses]
    if items and step is None:
        raise click.UsageError("--items goes with --step")
    if item is not None and (items or (step is None and asked is None)):
        raise click.UsageError("--item goes with --step or --why")
    read = _reader() if full else None
    with open_database() as db:
        run_id = find(db, run)
        if asked is not None:
            _say_why(db, run_id, asked, item, as_json)
        elif step is not None and items:
            _show_items(db, run_id, step, wanted, after, limit, as_json)
        elif step is not None:
            _show_step(db, run_id, step, item, as_json, read)
        elif tree:
            _show_tree(db, run_id, as_json)
        elif as_json:
            with db.transaction() as conn:
                view = get_run(conn, run_id, read) | {"trace_id": trace_id(conn, run_id)}
            print_json_stream({"run": view}, "steps", _steps(db, run_id, wanted))
        else:
            screen = console()
            page = _load(db, run_id, wanted, everything, read)
            print_lines(screen, run_page(page, Signs.of(screen), width_of(screen)))


def _say_why(db: Database, run_id: str, step: str, item: int | None, as_json: bool) -> None:
    with db.transaction() as conn:
        plan = Plans().get(conn, run_now(conn, run_id).revision_id)
        told = why(conn, plan, run_id, step, item)
    if as_json:
        print_json({"run_id": run_id, "step": step, **_of_item(item), "why": told})
    else:
        print_lines(console(), [Text(clean(sentence)) for sentence in told])


def _show_tree(db: Database, run_id: str, as_json: bool) -> None:
    with db.transaction() as conn:
        view, now = get_run(conn, run_id), run_now(conn, run_id).now
        runs, more = list_family(conn, run_id, MOST)
    if as_json:
        print_json({"run": view, "tree": runs, "more": more})
        return
    screen = console()
    print_lines(screen, family_lines(runs, more, Signs.of(screen), width_of(screen), now))


def _reader() -> Read:
    return configured_blobs().shown


def _load(db: Database, run_id: str, statuses: Sequence[StepStatus], everything: bool, read: Read | None) -> RunPage:
    with db.transaction() as conn:
        view = get_run(conn, run_id, read)
        secrets = load_secrets(conn, run_id)
        seen = look(conn, run_id, secrets, most=None if everything else _MOST, statuses=statuses)
        states = step_statuses(conn, run_id)
        workers = list_workers(conn)
    around = Around(plan_of(db, seen.run), states, seen.run.status, seen.run.now)
    return RunPage(view, seen, around, workers)


def _steps(db: Database, run_id: str, statuses: Sequence[StepStatus]) -> Iterator[dict[str, Any]]:
    """Every step asked for, page by page: their outputs may not fit in memory together."""
    with db.transaction() as conn:
        secrets = load_secrets(conn, run_id)
    return every(db, lambda conn, after: list_steps(conn, run_id, statuses, after, 200, secrets=secrets))


def _show_items(
    db: Database, run_id: str, step: str, wanted: Sequence[StepStatus], after: str | None, limit: int, as_json: bool
) -> None:
    with db.transaction() as conn:
        page, now = list_items(conn, run_id, step, wanted, after, limit), run_now(conn, run_id).now
    if as_json:
        print_json({"run_id": run_id, "step": step, "items": page.items, "next": page.next})
        return
    screen = console()
    print_lines(screen, item_table(page.items, Signs.of(screen), width_of(screen), now))
    if not page.items:
        note(f"step '{step}' has no such item" if wanted or after else f"step '{step}' has no items")
    if page.next:
        note(f"there are more: --after {page.next}")


def _of_item(item: Any) -> dict[str, Any]:
    return {} if item is None else {"item": item}


def _show_step(db: Database, run_id: str, name: str, item: int | None, as_json: bool, read: Read | None) -> None:
    """The page of a step, or of one of its items."""
    with db.transaction() as conn:
        step = get_step(conn, run_id, name, read) if item is None else get_item(conn, run_id, name, item, read)
        attempts = list_attempts(conn, run_id, name, item)
        now = run_now(conn, run_id)
        brief = get_brief(conn, run_id, name) if item is None else get_item_brief(conn, run_id, name, item)
        lines = [] if as_json else last_logs(conn, run_id, name, _LOG_LINES, item)
        states, workers = step_statuses(conn, run_id), list_workers(conn)
    if as_json:
        told = {"step": step} if item is None else {"step": name, "item": step}
        print_json({"run_id": run_id, **told, "attempts": attempts})
        return
    screen = console()
    around = Around(plan_of(db, now), states, now.status, now.now)
    page = StepPage(now, around, name, step, brief, attempts, lines, workers)
    print_lines(screen, step_page(page, Signs.of(screen), width_of(screen)))
