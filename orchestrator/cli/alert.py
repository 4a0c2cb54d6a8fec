"""`orchestrator alert`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.alertlines import delivery_lines, rule_lines, rule_page
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.listing import show_page
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import console, note, print_done, print_json, print_lines, width_of
from orchestrator.cli.seals import read_seal
from orchestrator.cli.session import open_database
from orchestrator.cli.spans import SECONDS
from orchestrator.cli.text import clean
from orchestrator.domain.alerts import Kind, Severity
from orchestrator.services.alert_rules import ALL_APPS, delete_rule, pause_rule, resume_rule, set_rule, try_rule
from orchestrator.services.engine import Engine
from orchestrator.store.reads.alerts import deliveries_of, get_rule, list_alerts, list_deliveries, list_rules

_NAME = click.argument("which", metavar="ALERT")
_OF_APP = click.option("--app", metavar="NAME", help="Of this app.")
_REASON = click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
_TEST_SECONDS = 40.0
_LOOK_SECONDS = 0.3
_SHOWN = 10


@click.group()
def alert() -> None:
    """Tell people and programs of failures: set, list, test, pause and delete alert rules.

    ALERT is a rule's name or id.
    """


@alert.command("list")
@_OF_APP
@click.option("--severity", type=click.Choice([one.value for one in Severity]), help="Of this severity.")
@paged
@common
def list_(app: str | None, severity: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List alert rules by name."""
    with open_database() as db, db.transaction() as conn:
        page = list_rules(conn, after, limit, app=app, severity=severity)
    remark = (
        None if page.items else "there is no such alert: orchestrator alert set NAME --on run_failed --email ADDRESS"
    )
    show_page(page, as_json, lambda screen: rule_lines(page.items, width_of(screen)), remark)


@alert.command("set")
@click.argument("name", metavar="NAME")
@click.option("--on", "kinds", multiple=True, type=click.Choice([one.value for one in Kind]), help="Of this; again.")
@click.option("--severity", type=click.Choice([one.value for one in Severity]), help="How much it matters [warning].")
@click.option("--workflow", metavar="NAME", help="Of this workflow only; '' for any.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Of runs with this tag only; may be given again.")
@click.option("--queue", metavar="NAME", help="Of this queue only; '' for any.")
@click.option("--late-after", "late_seconds", type=SECONDS, metavar="TIME", help="A run is late that is open so long.")
@click.option("--stuck-after", "stuck_seconds", type=SECONDS, metavar="TIME", help="Of a queue; 10s at least [5min].")
@click.option("--group", "group_seconds", type=SECONDS, metavar="TIME", help="Gather runs for so long [1min].")
@click.option("--repeat", "repeat_seconds", type=SECONDS, metavar="TIME", help="Tell again after so long [1h].")
@click.option("--resolved/--no-resolved", default=None, help="Tell also that it is over [yes].")
@click.option("--webhook", metavar="URL", help="POST to this URL, or to that of secrets.NAME; '' for none.")
@click.option("--secret", metavar="TEXT", help="Sign with this, or with secrets.NAME; '' for none.")
@click.option("--email", "emails", multiple=True, metavar="ADDRESS", help="Mail to; may be given again; '' for none.")
@_OF_APP
@click.option("--all-apps", is_flag=True, help="A rule about all apps.")
@common
def set_(name: str, app: str | None, all_apps: bool, as_json: bool, **said: Any) -> None:
    """Make an alert rule, or change what is given of one."""
    if app is not None and all_apps:
        raise click.UsageError("Give --app or --all-apps, not both.")
    with open_engine(need=("database",)) as engine:
        whose = ALL_APPS if all_apps else app
        done = set_rule(engine, read_seal(), name, _wanted(said), app=whose, actor=actor())
        with engine.db.transaction() as conn:
            view = get_rule(conn, done.id)
    if as_json:
        print_json(view | {"created": done.created, "changed": done.changed})
        return
    how = "is made" if done.created else "is changed" if done.changed else "is as it was"
    click.echo(f"alert '{clean(name)}' {how}")
    if done.created:
        note(f"try it: orchestrator alert test {done.id}")


def _wanted(said: dict[str, Any]) -> dict[str, Any]:
    """What is given; an empty text takes away what is there."""
    lists = {name: [one for one in said.pop(name) if one] for name in ("kinds", "tags", "emails") if said[name]}
    rest = {name: None if value == "" else value for name, value in said.items() if value is not None}
    return lists | {name: value for name, value in rest.items() if not isinstance(value, tuple)}


@alert.command()
@_NAME
@_OF_APP
@common
def show(which: str, app: str | None, as_json: bool) -> None:
    """Show an alert rule, what it has found, and its last messages."""
    with open_database() as db, db.transaction() as conn:
        view = get_rule(conn, which, app=app)
        found = list_alerts(conn, view["id"], limit=_SHOWN, open=True).items
        sent = list_deliveries(conn, view["id"], limit=_SHOWN).items
    if as_json:
        print_json(view | {"alerts": found, "deliveries": sent})
    else:
        print_lines(console(), rule_page(view, found, sent, width_of(console())))


@alert.command()
@_NAME
@_OF_APP
@paged
@common
def deliveries(which: str, app: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List the messages of an alert rule, latest first."""
    with open_database() as db, db.transaction() as conn:
        page = list_deliveries(conn, which, after, limit, app=app)
    remark = None if page.items else "it has sent nothing yet"
    show_page(page, as_json, lambda screen: delivery_lines(page.items, width_of(screen)), remark)


@alert.command()
@_NAME
@_OF_APP
@common
def test(which: str, app: str | None, as_json: bool) -> None:
    """Send a test to each channel of a rule; see what comes of it."""
    with open_engine(need=("database",)) as engine:
        items = _outcome(engine, try_rule(engine, which, app=app, actor=actor()))
    if as_json:
        print_json({"items": items})
    else:
        print_lines(console(), delivery_lines(items, width_of(console())))
    if any(one["status"] != "sent" for one in items):
        if not as_json and not any(one["attempts"] for one in items):
            note("no coordinator has taken it yet: does `orchestrator beat` run?")
        raise Ended(Exit.RUN_FAILED)


def _outcome(engine: Engine, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The messages, once each was sent or has failed; as they stand when that takes too long."""
    end = time.monotonic() + _TEST_SECONDS
    while True:
        with engine.db.transaction() as conn:
            items = deliveries_of(conn, list(ids))
        if all(one["error"] or one["status"] != "waiting" for one in items) or time.monotonic() > end:
            return items
        time.sleep(_LOOK_SECONDS)


@alert.command()
@_NAME
@_OF_APP
@_REASON
@common
def pause(which: str, app: str | None, reason: str | None, as_json: bool) -> None:
    """Let an alert rule tell nothing until it is resumed."""
    with open_engine(need=("database",)) as engine:
        id = pause_rule(engine, which, app=app, reason=reason, actor=actor())
    print_done({"id": id, "paused": True}, f"alert '{clean(which)}' is paused", as_json)


@alert.command()
@_NAME
@_OF_APP
@_REASON
@common
def resume(which: str, app: str | None, reason: str | None, as_json: bool) -> None:
    """Let a paused alert rule tell again, from now on."""
    with open_engine(need=("database",)) as engine:
        id = resume_rule(engine, which, app=app, reason=reason, actor=actor())
    print_done({"id": id, "paused": False}, f"alert '{clean(which)}' tells again", as_json)


@alert.command()
@_NAME
@_OF_APP
@_REASON
@common
def delete(which: str, app: str | None, reason: str | None, as_json: bool) -> None:
    """Delete an alert rule with what it has found."""
    with open_engine(need=("database",)) as engine:
        id = delete_rule(engine, which, app=app, reason=reason, actor=actor())
    print_done({"id": id}, f"alert '{clean(which)}' is deleted", as_json)
