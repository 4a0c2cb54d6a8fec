"""`orchestrator register`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.marks import Signs
from orchestrator.cli.output import console, note, print_json, print_lines
from orchestrator.cli.session import common, limits
from orchestrator.cli.text import clean
from orchestrator.cli.validate import Checked, check_file, checked_lines, end_unless_valid, problem_lines
from orchestrator.services.register import Registered
from orchestrator.services.register import register as register_document


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--app", metavar="NAME", help="For this app (default: ORCHESTRATOR_APP).")
@click.option("--group", metavar="NAME", help="For this group of apps.")
@common
def register(files: Sequence[str], app: str | None, group: str | None, as_json: bool) -> None:
    """Store workflow documents as new revisions.

    FILE is YAML or JSON, or - for standard input. None is stored when one of them is invalid; what has not
    changed keeps its revision.
    """
    if app and group:
        raise click.UsageError("A workflow has one owner: give --app or --group, not both.")
    allowed = limits()
    checked = [check_file(file, allowed) for file in files]
    _refuse_invalid(checked, as_json)
    with open_engine() as engine:
        registered = [
            register_document(engine, one.document or {}, app=app, group=group, actor=actor()) for one in checked
        ]
    if as_json:
        print_json({"items": [_json(one, done) for one, done in zip(checked, registered, strict=True)]})
        return
    screen = console()
    signs = Signs.of(screen)
    for done in registered:
        print_lines(screen, _lines(done, signs))


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


def _lines(done: Registered, signs: Signs) -> list[Text]:
    told = f"revision {done.revision}" if done.created else f"unchanged, revision {done.revision}"
    line = Text.assemble((f"{signs.mark('succeeded')} ", "green"), (clean(done.workflow), "bold"), f": {told}")
    line.append(f", {done.owner.kind} {clean(done.owner.name)}", "dim")
    return [line, *(part for warning in done.warnings for part in problem_lines(warning, "warning: "))]


def _json(checked: Checked, done: Registered) -> dict[str, Any]:
    return checked.as_json() | {
        "workflow": done.workflow,
        "revision": done.revision,
        "created": done.created,
        "owner": {"kind": done.owner.kind, "name": done.owner.name},
        "warnings": [{"path": w.path, "message": w.message, "hint": w.hint} for w in done.warnings],
    }
