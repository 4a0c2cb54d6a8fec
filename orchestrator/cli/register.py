"""`orchestrator register`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common, limits
from orchestrator.cli.output import console, note, print_json, print_lines
from orchestrator.cli.text import clean
from orchestrator.cli.validate import Checked, check_file, checked_lines, end_unless_valid, problem_json, problem_lines
from orchestrator.services.engine import Engine
from orchestrator.services.register import Registered
from orchestrator.services.register import register as register_document


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--app", metavar="NAME", help="For this app (default: ORCHESTRATOR_APP).")
@click.option("--group", metavar="NAME", help="For this group of apps.")
@click.option("--force", is_flag=True, help="Also workflows of a pack, which its next upgrade sets right again.")
@common
def register(files: Sequence[str], app: str | None, group: str | None, force: bool, as_json: bool) -> None:
    """Store workflow documents as new revisions.

    FILE is YAML or JSON, or - for standard input. None is stored when one of them is invalid; what has not
    changed keeps its revision.
    """
    if app and group:
        raise click.UsageError("A workflow has one owner: give --app or --group, not both.")
    allowed = limits()
    checked = [check_file(file, allowed) for file in files]
    _refuse_invalid(checked, as_json)
    with open_engine(need=("database",)) as engine:
        done = [_register(engine, one, app, group, force=force) for one in checked]
    if as_json:
        print_json({"items": [_json(one) for one in done]})
        return
    screen = console()
    for one in done:
        print_lines(screen, _lines(one, Signs.of(screen)))


@dataclass(frozen=True, slots=True)
class _Done:
    """A document that is stored."""

    checked: Checked
    registered: Registered


def _register(engine: Engine, checked: Checked, app: str | None, group: str | None, *, force: bool) -> _Done:
    document = checked.document or {}
    return _Done(checked, register_document(engine, document, app=app, group=group, force=force, actor=actor()))


def _refuse_invalid(checked: Sequence[Checked], as_json: bool) -> None:
    invalid = [one for one in checked if one.code]
    if as_json and invalid:
        print_json({"items": [one.as_json() for one in checked]})
    elif invalid:
        screen = console()
        for one in invalid:
            print_lines(screen, checked_lines(one, Signs.of(screen)))
        note("nothing was registered")
    end_unless_valid(checked)


def _lines(done: _Done, signs: Signs) -> list[Text]:
    stored = done.registered
    told = f"revision {stored.revision}" if stored.created else f"unchanged, revision {stored.revision}"
    line = Text.assemble(signs.marked("succeeded"), (clean(stored.workflow), "bold"), f": {told}")
    line.append(f", {stored.owner.kind} {clean(stored.owner.name)}", "dim")
    return [line, *(part for warning in stored.warnings for part in problem_lines(warning, "warning: "))]


def _json(done: _Done) -> dict[str, Any]:
    stored = done.registered
    return done.checked.as_json() | {
        "workflow": stored.workflow,
        "revision": stored.revision,
        "created": stored.created,
        "owner": {"kind": stored.owner.kind, "name": stored.owner.name},
        "warnings": [problem_json(warning) for warning in stored.warnings],
    }
