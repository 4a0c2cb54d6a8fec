"""`orchestrator hook`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.listing import show_page
from orchestrator.cli.options import common, paged
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.seals import read_seal
from orchestrator.cli.session import open_database
from orchestrator.cli.start import read_input
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, json_line, local, parsed
from orchestrator.domain.signatures import GITHUB, TIMED
from orchestrator.services import hooks as verbs
from orchestrator.services.hooks import HookSpec, Secret
from orchestrator.store.reads.hooks import get_hook, list_hooks

_COLUMNS = (
    name_column("HOOK"),
    Column("APP", gives_way=3),
    Column("DOES", stretches=True),
    Column("STATUS"),
    Column("LAST CALLED", gives_way=2),
    Column("ID", gives_way=1),
)
_OF_APP = click.option("--app", metavar="NAME", help="Of this app.")


@click.group()
def hook() -> None:
    """Make, list and remove webhooks, which start runs or send events.

    HOOK is a hook's name or id.
    """


@hook.command()
@click.argument("name", metavar="NAME")
@click.option("--workflow", metavar="WORKFLOW", help="Start this workflow.")
@click.option("--event", metavar="EVENT", help="Send this event to a run.")
@click.option("--run", metavar="TEMPLATE", help="To which: a template such as '{{ body.run_id }}'.")
@click.option("--input", "given", metavar="JSON|@FILE|-", help="Template of the input, or payload [default: the body].")
@click.option("--idempotency-key", metavar="TEMPLATE", help="A call with the same key again starts nothing.")
@click.option("--github", is_flag=True, help="Signed as GitHub does it (X-Hub-Signature-256).")
@_OF_APP
@common
def create(
    name: str,
    workflow: str | None,
    event: str | None,
    run: str | None,
    given: str | None,
    idempotency_key: str | None,
    github: bool,
    app: str | None,
    as_json: bool,
) -> None:
    """Make a hook. Its secret is shown now, and never again."""
    template = read_input(given, "--input")
    spec = HookSpec(workflow, event, run, GITHUB if github else TIMED, template, idempotency_key)
    with open_engine(need=("database",)) as engine:
        _tell(verbs.create_hook(engine, read_seal(), name, spec, app=app, actor=actor()), as_json)


@hook.command("list")
@_OF_APP
@paged
@common
def list_(app: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List hooks by name."""
    with open_database() as db, db.transaction() as conn:
        page = list_hooks(conn, after, limit, app=app)
    remark = None if page.items else "there is no hook: orchestrator hook create NAME --workflow WORKFLOW"
    show_page(
        page, as_json, lambda screen: table(_COLUMNS, [_row(item) for item in page.items], width_of(screen)), remark
    )


@hook.command()
@click.argument("which", metavar="HOOK")
@_OF_APP
@common
def show(which: str, app: str | None, as_json: bool) -> None:
    """Show a hook with its templates."""
    with open_database() as db, db.transaction() as conn:
        found = get_hook(conn, which, app=app)
    if as_json:
        print_json(found)
        return
    screen = console()
    lines = table(_COLUMNS, [_row(found)], width_of(screen))
    templates = {"input": json_line(found["input"]), "run": found["run"], "idempotency key": found["idempotency_key"]}
    lines += [Text(f"  {name}: {clean(value)}") for name, value in templates.items() if value is not None]
    print_lines(screen, [*lines, Text(f"  address: POST /api/v1/hooks/{found['id']}")])


@hook.command()
@click.argument("which", metavar="HOOK")
@_OF_APP
@common
def enable(which: str, app: str | None, as_json: bool) -> None:
    """Let a hook be called again."""
    _switch(which, app, True, as_json)


@hook.command()
@click.argument("which", metavar="HOOK")
@_OF_APP
@common
def disable(which: str, app: str | None, as_json: bool) -> None:
    """Switch a hook off: for callers it is not there."""
    _switch(which, app, False, as_json)


@hook.command()
@click.argument("which", metavar="HOOK")
@_OF_APP
@common
def rotate(which: str, app: str | None, as_json: bool) -> None:
    """Give a hook a new secret; the old one signs nothing any more."""
    with open_engine(need=("database",)) as engine:
        _tell(verbs.rotate_hook(engine, read_seal(), which, app=app, actor=actor()), as_json)


@hook.command()
@click.argument("which", metavar="HOOK")
@_OF_APP
@common
def remove(which: str, app: str | None, as_json: bool) -> None:
    """Remove a hook."""
    with open_engine(need=("database",)) as engine:
        id = verbs.remove_hook(engine, which, app=app, actor=actor())
    if as_json:
        print_json({"id": id})
    else:
        click.echo(f"hook '{clean(which)}' is removed")


def _switch(which: str, app: str | None, enabled: bool, as_json: bool) -> None:
    with open_engine(need=("database",)) as engine:
        id = verbs.set_enabled(engine, which, enabled, app=app, actor=actor())
    if as_json:
        print_json({"id": id, "enabled": enabled})
    else:
        click.echo(f"hook '{clean(which)}' is {'enabled' if enabled else 'disabled'}")


def _tell(made: Secret, as_json: bool) -> None:
    if as_json:
        print_json({"id": made.id, "name": made.name, "path": f"/api/v1/hooks/{made.id}", "secret": made.secret})
        return
    click.echo(f"/api/v1/hooks/{made.id}\n{made.secret}")
    note("the second line is the secret that signs calls: keep it, it cannot be shown again")


def _row(item: Mapping[str, Any]) -> tuple[Text, ...]:
    called = parsed(item["last_called_at"])
    does = f"starts {item['workflow']}" if item["workflow"] else f"sends {item['event']}"
    return (
        Text(clean(item["name"])),
        Text(clean(item["app"])),
        Text(clean(does)),
        Text("enabled" if item["enabled"] else "disabled"),
        Text(local(called) if called else "", "dim"),
        Text(item["id"], "dim"),
    )
