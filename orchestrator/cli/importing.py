"""`orchestrator import`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.acting import actor, open_engine
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.importlines import brought_json, brought_lines
from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common, limits
from orchestrator.cli.output import console, note, print_json, print_lines
from orchestrator.cli.text import clean, plural
from orchestrator.convert.bring import Brought, bring
from orchestrator.convert.guess import Engine
from orchestrator.convert.report import Imported
from orchestrator.domain.limits import Limits
from orchestrator.errors import NotFound, OrchestratorError, Problem
from orchestrator.services.documents import read_bytes, read_document
from orchestrator.services.register import register


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--from", "engine", type=click.Choice([engine.value for engine in Engine]), help="Which engine's.")
@click.option("--out", metavar="DIR", help="Write a file for each workflow into this folder.")
@click.option("--register", "as_revisions", is_flag=True, help="Store the workflows as new revisions.")
@click.option("--force", is_flag=True, help="Write over files; register although something was lost.")
@click.option("--app", metavar="NAME", help="Register for this app (default: ORCHESTRATOR_APP).")
@click.option("--group", metavar="NAME", help="Register for this group of apps.")
@common
def import_(
    files: Sequence[str],
    engine: str | None,
    out: str | None,
    as_revisions: bool,
    force: bool,
    app: str | None,
    group: str | None,
    as_json: bool,
) -> None:
    """Make workflow documents of other engines' documents.

    FILE is a document of celery-director, Orquesta (StackStorm) or Attune, or a DAG of Airflow as YAML, JSON or
    Python, which is read and never run. Prints the workflows, and on stderr what could not be carried over. Needs no
    database unless with --register.
    """
    _check_options(out, as_revisions, app, group)
    allowed = limits()
    done, worst = _bring(files, Engine(engine) if engine else None, allowed)
    made = [workflow for one in done for workflow in one.workflows]
    written = _write(made, Path(out), force=force) if out and made else {}
    if as_revisions:
        _register(made, done, app, group, force=force)
    if as_json:
        print_json(brought_json(done, written))
    else:
        _print(done, made, written, shown=not out and not as_revisions)
    code = Exit.INVALID if any(one.problems for one in done) else Exit.OK
    if not code and any(one.lost for one in done):
        code = Exit.RUN_FAILED
    if max(code, worst):
        raise Ended(max(code, worst))


def _check_options(out: str | None, as_revisions: bool, app: str | None, group: str | None) -> None:
    if out and as_revisions:
        raise click.UsageError("Give --out or --register, not both.")
    if app and group:
        raise click.UsageError("A workflow has one owner: give --app or --group, not both.")
    if (app or group) and not as_revisions:
        raise click.UsageError("--app and --group are for --register.")


def _bring(files: Sequence[str], engine: Engine | None, allowed: Limits) -> tuple[list[Brought], Exit]:
    """Read and import all files; those that cannot be read are told among them."""
    found, unread, worst = [], [], Exit.OK
    for file in files:
        try:
            found.append((file, read_bytes(file, limits=allowed)))
        except OrchestratorError as error:
            worst = max(worst, Exit.NOT_FOUND if isinstance(error, NotFound) else Exit.INVALID)
            unread.append(Brought(file, engine, (), (Problem("", str(error)),)))
    return [*bring(found, engine, limits=allowed, read_schema=_read_schema), *unread], worst


def _read_schema(file: str, name: str) -> Any:
    """The schema that celery-director keeps as schemas/NAME.json beside its file; None if there is none to be read."""
    folder = (Path(file).parent / "schemas").resolve()
    path = (folder / f"{name}.json").resolve()
    if not path.is_relative_to(folder):
        return None
    try:
        return read_document(path)
    except OrchestratorError:
        return None


def _write(made: Sequence[Imported], folder: Path, *, force: bool) -> dict[str, str]:
    """A file for each workflow, by its name; none if one of them is there already."""
    paths: list[Path] = []
    for workflow in made:
        path, number = folder / f"{_file_name(workflow.name)}.yaml", 2
        while path in paths:
            path, number = folder / f"{_file_name(workflow.name)}_{number}.yaml", number + 1
        paths.append(path)
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise OrchestratorError(f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} there already: give --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for workflow, path in zip(made, paths, strict=True):
            path.write_text(workflow.text, encoding="utf-8")
    except OSError as error:
        raise OrchestratorError(f"cannot write to '{folder}': {error.strerror or error}") from error
    return {workflow.name: str(path) for workflow, path in zip(made, paths, strict=True)}


def _file_name(name: str) -> str:
    """A workflow's name as that of a file: letters, digits, dots, dashes and underscores stay."""
    kept = "".join(c if c.isalnum() or c in "._-" else "_" for c in name).strip(".")
    return kept[:100] or "workflow"


def _register(
    made: Sequence[Imported], done: Sequence[Brought], app: str | None, group: str | None, *, force: bool
) -> None:
    """Store all of them, or none: where something was lost, only by force."""
    if any(one.problems for one in done) or (any(one.lost for one in done) and not force):
        note("nothing was registered" + ("" if any(one.problems for one in done) else ": something was lost"))
        return
    with open_engine(need=("database",)) as engine:
        for workflow in made:
            stored = register(engine, workflow.document, app=app, group=group, actor=actor())
            note(f"registered {clean(stored.workflow)}, revision {stored.revision}")


def _print(done: Sequence[Brought], made: Sequence[Imported], written: dict[str, str], *, shown: bool) -> None:
    """The workflows on stdout, the report on stderr; where files are written, the report is what is printed."""
    if shown:
        click.echo("---\n".join(workflow.text for workflow in made), nl=False)
    screen = console(stderr=shown)
    for one in done:
        print_lines(screen, brought_lines(one, written, Signs.of(screen)))
    if len(made) > 1 or len(done) > 1:
        note(f"{plural(len(made), 'workflow')} of {plural(len(done), 'file')}")


globals()["import"] = import_  # the command's name is a word of the language
