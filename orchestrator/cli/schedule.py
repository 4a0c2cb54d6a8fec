"""`orchestrator schedule`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.filters import When
from orchestrator.cli.listing import show_page
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import console, note, print_done, print_json, print_lines, width_of
from orchestrator.cli.preview import agreed_to
from orchestrator.cli.schedulelines import backfilled_lines, fire_lines, schedule_lines, schedule_page, time_lines
from orchestrator.cli.session import open_database
from orchestrator.cli.spans import SECONDS
from orchestrator.cli.start import read_input
from orchestrator.cli.text import clean, plural
from orchestrator.domain.firing import Overlap
from orchestrator.services.backfill import Range, backfill
from orchestrator.services.fire_now import fire_now
from orchestrator.services.schedule_spec import preview
from orchestrator.services.schedules import delete_schedule, pause_schedule, resume_schedule, set_schedule
from orchestrator.store.reads.page import iso
from orchestrator.store.reads.schedules import STANDINGS, get_schedule, list_fires, list_schedules, next_fires

_NAME = click.argument("which", metavar="SCHEDULE")
_OF_APP = click.option("--app", metavar="NAME", help="Of this app.")
_REASON = click.option("--reason", metavar="TEXT", help="Why, for the audit log.")


@click.group()
def schedule() -> None:
    """Start runs by a clock: set, list, pause, fire, backfill and delete schedules.

    SCHEDULE is a schedule's name or id.
    """


@schedule.command("list")
@_OF_APP
@click.option("--workflow", metavar="NAME", help="That start this workflow.")
@click.option("--standing", type=click.Choice(list(STANDINGS)), help="That are so.")
@paged
@common
def list_(
    app: str | None, workflow: str | None, standing: str | None, limit: int, after: str | None, as_json: bool
) -> None:
    """List schedules by name."""
    with open_database() as db, db.transaction() as conn:
        page = list_schedules(conn, after, limit, app=app, workflow=workflow, standing=standing)
    remark = None if page.items else "there is no such schedule: orchestrator schedule set NAME --workflow WORKFLOW"
    show_page(page, as_json, lambda screen: schedule_lines(page.items, width_of(screen)), remark)


@schedule.command("set")
@click.argument("name", metavar="NAME")
@click.option("--workflow", metavar="WORKFLOW", help="Start this workflow.")
@click.option("--cron", metavar="EXPRESSION", help="When: five fields, '30 2 * * mon-fri'.")
@click.option("--every", "interval_seconds", type=SECONDS, metavar="TIME", help="Instead: each 5s, 15min, 1h.")
@click.option("--timezone", metavar="ZONE", help="Of the cron expression: Europe/London [default: UTC].")
@click.option("--input", "given", metavar="JSON|@FILE|-", help="The runs' input; may name {{ fire_at }}.")
@click.option("--revision", type=click.IntRange(min=1), help="This revision [default: the latest].")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag of the runs; may be given again.")
@click.option("--catchup", "catchup_seconds", type=SECONDS, metavar="TIME", help="Make up for what is so late [1h].")
@click.option("--overlap", type=click.Choice([one.value for one in Overlap]), help="While a run is open [skip].")
@click.option("--jitter", "jitter_seconds", type=SECONDS, metavar="TIME", help="Start up to so much later [0].")
@click.option("--max-failures", type=click.IntRange(min=0), help="Pause after so many in a row [default: 0, never].")
@click.option("--paused", is_flag=True, help="Paused from the beginning.")
@_OF_APP
@common
def set_(
    name: str, given: str | None, tags: Sequence[str], paused: bool, app: str | None, as_json: bool, **said: Any
) -> None:
    """Make a schedule, or change what is given of one."""
    wanted = {key: value for key, value in said.items() if value is not None}
    if given is not None:
        wanted["input"] = read_input(given)
    if tags:
        wanted["tags"] = tags
    with open_engine(need=("database",)) as engine:
        done = set_schedule(engine, name, wanted, app=app, paused=paused, actor=actor())
        with engine.db.transaction() as conn:
            view = get_schedule(conn, done.id)
    if as_json:
        print_json(view | {"created": done.created, "changed": done.changed})
        return
    how = "is made" if done.created else "is changed" if done.changed else "is as it was"
    click.echo(f"schedule '{clean(name)}' {how}")
    print_lines(console(), time_lines(view["next_fires"]))


@schedule.command()
@_NAME
@_OF_APP
@common
def show(which: str, app: str | None, as_json: bool) -> None:
    """Show a schedule with its next fire times."""
    with open_database() as db, db.transaction() as conn:
        view = get_schedule(conn, which, app=app)
    if as_json:
        print_json(view)
    else:
        print_lines(console(), schedule_page(view, width_of(console())))


@schedule.command()
@_NAME
@_OF_APP
@paged
@common
def fires(which: str, app: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List what was decided at its fire times, latest first."""
    with open_database() as db, db.transaction() as conn:
        page = list_fires(conn, which, after, limit, app=app)
    remark = None if page.items else "it has not fired yet"
    show_page(page, as_json, lambda screen: fire_lines(page.items, width_of(screen)), remark)


@schedule.command("next")
@click.argument("which", metavar="[SCHEDULE]", required=False)
@click.option("--count", type=click.IntRange(1, 100), default=10, show_default=True, help="How many.")
@click.option("--from", "after", type=When(), metavar="TIME", help="After this time [default: now].")
@click.option("--cron", metavar="EXPRESSION", help="Instead of a schedule's: needs no database.")
@click.option("--timezone", metavar="ZONE", default="UTC", help="Of the cron expression.")
@_OF_APP
@common
def next_(
    which: str | None,
    count: int,
    after: datetime | None,
    cron: str | None,
    timezone: str,
    app: str | None,
    as_json: bool,
) -> None:
    """List the next fire times of a schedule, or of a cron expression."""
    if (which is None) == (cron is None):
        raise click.UsageError("Give a schedule, or --cron.")
    if cron is not None:
        found = [iso(at) or "" for at in preview({"cron": cron, "timezone": timezone}, count, after)]
    else:
        with open_database() as db, db.transaction() as conn:
            found = next_fires(conn, which or "", app=app, after=after, count=count)
    if as_json:
        print_json({"items": found})
    else:
        print_lines(console(), time_lines(found, timezone if cron is not None else None))


@schedule.command()
@_NAME
@_OF_APP
@_REASON
@common
def pause(which: str, app: str | None, reason: str | None, as_json: bool) -> None:
    """Let a schedule fire no more until it is resumed."""
    with open_engine(need=("database",)) as engine:
        id = pause_schedule(engine, which, app=app, reason=reason, actor=actor())
    print_done({"id": id, "paused": True}, f"schedule '{clean(which)}' is paused", as_json)


@schedule.command()
@_NAME
@_OF_APP
@_REASON
@common
def resume(which: str, app: str | None, reason: str | None, as_json: bool) -> None:
    """Let a paused schedule fire again, from now on."""
    with open_engine(need=("database",)) as engine:
        id = resume_schedule(engine, which, app=app, reason=reason, actor=actor())
    print_done({"id": id, "paused": False}, f"schedule '{clean(which)}' fires again", as_json)


@schedule.command()
@_NAME
@click.option("--force", is_flag=True, help="Also while a run of it is open.")
@_OF_APP
@_REASON
@common
def fire(which: str, force: bool, app: str | None, reason: str | None, as_json: bool) -> None:
    """Start a run of a schedule now, and print its id."""
    with open_engine() as engine:
        fired = fire_now(engine, which, app=app, force=force, reason=reason, actor=actor())
    told = fired.run_id or "it waits for a run that is open"
    print_done({"id": fired.id, "fire_at": iso(fired.fire_at), "run_id": fired.run_id}, told, as_json)


@schedule.command("backfill")
@_NAME
@click.option("--from", "first", type=When(), metavar="TIME", required=True, help="From this time on: 2d, 2026-11-29.")
@click.option("--until", type=When(), metavar="TIME", help="Up to before this time [default: now].")
@click.option("--all", "all_", is_flag=True, help="Also what has a run: each gets another.")
@click.option("--at-once", is_flag=True, help="All side by side, not one after another.")
@click.option("--dry-run", is_flag=True, help="Only show which fire times these are.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_OF_APP
@_REASON
@common
def backfill_(
    which: str,
    first: datetime,
    until: datetime | None,
    all_: bool,
    at_once: bool,
    dry_run: bool,
    yes: bool,
    app: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Start runs for past fire times: the missed ones, or all."""
    wanted = Range(first, until, all_, at_once)
    with open_engine() as engine:
        found = backfill(engine, which, wanted, dry_run=True, app=app)
        if not dry_run and found.fires:
            if not as_json and not yes:
                print_lines(console(), backfilled_lines(found))
            if not agreed_to(f"Start {plural(len(found.fires), 'run')}?", yes, ask=not as_json):
                return
            found = backfill(engine, which, wanted, app=app, reason=reason, actor=actor())
    if as_json:
        times = [iso(fire) for fire in found.fires]
        told = {"id": found.id, "count": len(times), "had": found.had, "dry_run": dry_run, "fires": times}
        print_json(told)
    else:
        print_lines(console(), backfilled_lines(found))
        if found.paused and not at_once:
            note("the schedule is paused: they wait until it is resumed")


@schedule.command()
@_NAME
@_OF_APP
@_REASON
@common
def delete(which: str, app: str | None, reason: str | None, as_json: bool) -> None:
    """Delete a schedule; its runs go on."""
    with open_engine(need=("database",)) as engine:
        id = delete_schedule(engine, which, app=app, reason=reason, actor=actor())
    print_done({"id": id}, f"schedule '{clean(which)}' is deleted", as_json)
