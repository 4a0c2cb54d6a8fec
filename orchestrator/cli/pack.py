"""`orchestrator pack`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click
from rich.text import Text

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common, owned
from orchestrator.cli.output import console, note, print_json, print_lines, width_of
from orchestrator.cli.session import open_database
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, one_line, plural
from orchestrator.cli.validate import problem_json, problem_lines
from orchestrator.services.pack_folder import read_pack
from orchestrator.services.packs import Act, Changed, install_pack, remove_pack, upgrade_pack
from orchestrator.store.reads import list_packs

Command = TypeVar("Command", bound=Callable[..., Any])
_COLUMNS = (
    name_column("PACK"),
    Column("VERSION"),
    Column("OWNER", stretches=True, gives_way=2),
    Column("WORKFLOWS"),
    Column("", stretches=True, gives_way=1),
)
_SIGNS = {"added": "+", "changed": "~", "removed": "-", "unchanged": " "}


@click.group()
def pack() -> None:
    """Install, upgrade, remove and list packs.

    A pack is a folder with a file pack.yaml and workflows in workflows/*.yaml.
    """


def _acting(command: Command) -> Command:
    """What the commands that change something take."""
    dry_run = click.option("--dry-run", is_flag=True, help="Only say what would change.")
    reason = click.option("--reason", metavar="TEXT", help="Why, for the audit log.")
    return owned(dry_run(reason(common(command))))


@pack.command()
@click.argument("folder", metavar="DIR")
@_acting
def install(folder: str, as_json: bool, **given: Any) -> None:
    """Install a pack: all of its workflows, or none."""
    with open_engine(need=("database",)) as engine:
        read = read_pack(folder, limits=engine.settings.documents)
        _tell(install_pack(engine, read, Act(**given, actor=actor())), "installed", given["dry_run"], as_json)


@pack.command()
@click.argument("folder", metavar="DIR")
@click.option("--force", is_flag=True, help="Remove workflows that are no longer in it even with active runs.")
@_acting
def upgrade(folder: str, as_json: bool, **given: Any) -> None:
    """Bring an installed pack to what the folder holds."""
    with open_engine(need=("database",)) as engine:
        read = read_pack(folder, limits=engine.settings.documents)
        _tell(upgrade_pack(engine, read, Act(**given, actor=actor())), "upgraded", given["dry_run"], as_json)


@pack.command()
@click.argument("name", metavar="NAME")
@click.option("--force", is_flag=True, help="Even with active runs, which go on.")
@_acting
def remove(name: str, as_json: bool, **given: Any) -> None:
    """Remove a pack with its workflows. Their runs keep the revision they follow."""
    with open_engine(need=("database",)) as engine:
        _tell(remove_pack(engine, name, Act(**given, actor=actor())), "removed", given["dry_run"], as_json)


@pack.command("list")
@click.option("--app", metavar="NAME", help="Those this app sees: its own and its group's.")
@common
def list_(app: str | None, as_json: bool) -> None:
    """List packs by name."""
    with open_database() as db, db.transaction() as conn:
        packs = list_packs(conn, app)
    if as_json:
        print_json({"items": packs})
        return
    screen = console()
    print_lines(screen, packs_table(packs, width_of(screen)))
    if not packs:
        note("no pack is installed: orchestrator pack install DIR")


@pack.command()
@click.argument("name", metavar="NAME")
@common
def show(name: str, as_json: bool) -> None:
    """Show a pack with its workflows, for each that has it."""
    with open_database() as db, db.transaction() as conn:
        packs = list_packs(conn, name=name)
    if as_json:
        print_json({"items": packs})
        return
    print_lines(console(), [line for one in packs for line in _page(one)])


def packs_table(packs: Sequence[Mapping[str, Any]], width: int | None) -> list[Text]:
    """One line a pack."""
    return table(_COLUMNS, [_row(one) for one in packs], width)


def _row(one: Mapping[str, Any]) -> tuple[Text, ...]:
    return (
        Text(clean(one["name"])),
        Text(clean(one["version"] or "")),
        Text(_owner(one["owner"]["kind"], one["owner"]["name"]), "dim"),
        Text(str(len(one["workflows"]))),
        Text(one_line(one["label"] or one["description"] or "")),
    )


def _page(one: Mapping[str, Any]) -> list[Text]:
    version = f" {clean(one['version'])}" if one["version"] else ""
    head = Text.assemble((clean(one["name"]), "bold"), version)
    head.append(f", {_owner(one['owner']['kind'], one['owner']['name'])}", "dim")
    about = [Text(f"  {one_line(one[key])}") for key in ("label", "description") if one[key]]
    return [head, *about, *(Text(f"  {clean(w['name'])}, revision {w['revision']}") for w in one["workflows"])]


def _owner(kind: str, name: str) -> str:
    return f"{kind} {clean(name)}"


def _tell(changed: Changed, verb: str, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(_json(changed, dry_run))
        return
    screen = console()
    print_lines(screen, _lines(changed, f"would be {verb}" if dry_run else verb, Signs.of(screen)))


def _lines(changed: Changed, verb: str, signs: Signs) -> list[Text]:
    versions = " -> ".join(clean(v) for v in (changed.before, changed.version) if v)
    line = Text.assemble(signs.marked("succeeded"), (clean(changed.pack), "bold"), f" {versions}".rstrip(), f" {verb}")
    counts = ", ".join(f"{plural(count, 'workflow')} {kind}" for kind, count in changed.counts.items())
    line.append(f": {counts}")
    line.append(f", {_owner(changed.owner.kind, changed.owner.name)}", "dim")
    shown = [one for one in changed.workflows if one.change != "unchanged"]
    lines = [Text(f"  {_SIGNS[one.change]} {clean(one.workflow)}, revision {one.revision}") for one in shown]
    return [line, *lines, *(part for odd in changed.warnings for part in problem_lines(odd, "warning: "))]


def _json(changed: Changed, dry_run: bool) -> dict[str, Any]:
    return {
        "pack": changed.pack,
        "owner": {"kind": changed.owner.kind, "name": changed.owner.name},
        "version": changed.version,
        "before": changed.before,
        "dry_run": dry_run,
        "workflows": [{"workflow": w.workflow, "change": w.change, "revision": w.revision} for w in changed.workflows],
        "warnings": [problem_json(odd) for odd in changed.warnings],
    }
