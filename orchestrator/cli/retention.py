"""`orchestrator retention`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.acting import actor
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.spans import SPAN
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean
from orchestrator.domain.retention import RUNS, Rule
from orchestrator.domain.states import RUN_TERMINAL
from orchestrator.domain.times import span
from orchestrator.services import retention as verbs
from orchestrator.store.reads.retention import list_rules

ENDS = sorted(status.value for status in RUN_TERMINAL)
_CALLS = "hook_calls"  # kept by the times they carry, unless a rule says more
_COLUMNS = (
    Column("WHAT"),
    name_column("WORKFLOW"),
    Column("APP", gives_way=3),
    Column("STATUS"),
    Column("KEPT", stretches=True),
    Column("BY", gives_way=1),
)


@click.group()
def retention() -> None:
    """Say how long runs and histories are kept; see what holds.

    Nothing of runs is removed unless a rule says so.
    """


def _placed(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say for what a rule holds; the command gets them as `rule`."""

    @functools.wraps(command)
    def collected(*, what: str, app: str | None, workflow: str | None, status: str | None, **rest: Any) -> Any:
        return command(rule=Rule(what, app or "", workflow or "", status or ""), **rest)

    options = (
        click.option("--what", default=RUNS, show_default=True, metavar="NAME", help="Or a history: see the list."),
        click.option("--app", metavar="NAME", help="For runs of this app [default: any]."),
        click.option("--workflow", metavar="NAME", help="For runs of this workflow [default: any]."),
        click.option("--status", type=click.Choice(ENDS), help="For runs that ended so [default: any]."),
        click.option("--reason", metavar="TEXT", help="Why, for the audit log."),
    )
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), collected)


@retention.command("list")
@common
def list_(as_json: bool) -> None:
    """List the rules, the most particular first; then histories."""
    _show(as_json)


@retention.command("set")
@click.option("--keep", "keep_seconds", type=SPAN, metavar="AGE", help="Keep what ended so long ago or later: 30d.")
@click.option("--newest", "keep_newest", type=int, metavar="N", help="And so many of each workflow, however old.")
@click.option("--forever", is_flag=True, help="Instead: remove nothing.")
@_placed
@common
def set_(
    rule: Rule, keep_seconds: int | None, keep_newest: int | None, forever: bool, reason: str | None, as_json: bool
) -> None:
    """Make a rule, in the place of one for the same."""
    if forever == (keep_seconds is not None or keep_newest is not None):
        raise click.UsageError("Give --keep AGE, --newest N or both, or --forever.")
    wanted = Rule(rule.what, rule.app, rule.workflow, rule.status, keep_seconds, keep_newest)
    with open_database() as db:
        verbs.set_rule(db, wanted, reason=reason, actor=actor())
    _show(as_json)


@retention.command()
@_placed
@common
def delete(rule: Rule, reason: str | None, as_json: bool) -> None:
    """Delete a rule: a more general one holds then, or none."""
    with open_database() as db:
        verbs.delete_rule(db, rule, reason=reason, actor=actor())
    _show(as_json)


def _show(as_json: bool) -> None:
    with open_database() as db, db.transaction() as conn:
        items = list_rules(conn)
    if as_json:
        print_json({"items": items})
        return
    screen = console()
    print_lines(screen, table(_COLUMNS, [_row(item) for item in items], width_of(screen)))
    if all(item["what"] != RUNS for item in items):
        note("no rule is about runs, so they are kept for ever: orchestrator retention set --keep 90d")


def _row(item: Mapping[str, Any]) -> tuple[Text, ...]:
    return (
        Text(item["what"]),
        Text(clean(item["workflow"] or "")),
        Text(clean(item["app"] or "")),
        Text(item["status"] or ""),
        Text(kept(item)),
        Text("default" if item["default"] else clean(item["changed_by"]), "dim"),
    )


def kept(item: Mapping[str, Any]) -> str:
    """How long, in words."""
    seconds, newest = item["keep_seconds"], item["keep_newest"]
    if seconds is None and newest is None:
        return "for ever"
    if item["what"] == _CALLS and not seconds:
        return "until they are refused"
    parts = [span(seconds)] if seconds is not None else []
    parts += [f"the newest {newest:,}"] if newest is not None else []
    return ", and ".join(parts)
