"""`orchestrator validate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.text import Text

from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common, limits
from orchestrator.cli.output import console, print_json, print_lines
from orchestrator.cli.text import clean, plural
from orchestrator.domain.definition import Definition
from orchestrator.domain.definition_schema import definition_schema
from orchestrator.domain.limits import Limits
from orchestrator.domain.parse import parse
from orchestrator.domain.validate import warnings
from orchestrator.errors import NotFound, OrchestratorError, Problem, ProblemsError
from orchestrator.services.documents import read_document


@dataclass(frozen=True, slots=True)
class Checked:
    """A file with what is wrong with it. `code` is the exit code it asks for."""

    file: str
    document: Mapping[str, Any] | None = None
    definition: Definition | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    code: Exit = Exit.OK

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "valid": self.code is Exit.OK,
            "workflow": self.definition.name if self.definition else None,
            "problems": [problem_json(problem) for problem in self.problems],
            "warnings": [problem_json(problem) for problem in self.warnings],
        }


def problem_json(problem: Problem) -> dict[str, Any]:
    """A problem as every view has it."""
    return {"path": problem.path, "message": problem.message, "hint": problem.hint}


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of the format instead, for editors.")
@common
def validate(files: Sequence[str], as_schema: bool, as_json: bool) -> None:
    """Check workflow documents.

    FILE is YAML or JSON, or - for standard input. Tells every problem with its path; needs no database.
    """
    if as_schema == bool(files):
        raise click.UsageError("Give one FILE or more to check, or --schema for the schema of all.")
    if as_schema:
        print_json(definition_schema())
        return
    allowed = limits()
    checked = [check_file(file, allowed) for file in files]
    if as_json:
        print_json({"items": [one.as_json() for one in checked]})
    else:
        screen = console()
        for one in checked:
            print_lines(screen, checked_lines(one, Signs.of(screen)))
    end_unless_valid(checked)


def check_file(file: str, limits: Limits) -> Checked:
    """Read and check one document."""
    try:
        document = read_document(file, limits=limits)
        definition = parse(document, limits=limits)
    except ProblemsError as error:
        return Checked(file, problems=error.problems, code=Exit.INVALID)
    except OrchestratorError as error:
        code = Exit.NOT_FOUND if isinstance(error, NotFound) else Exit.INVALID
        return Checked(file, problems=(Problem("", str(error)),), code=code)
    return Checked(file, document, definition, warnings=tuple(warnings(definition)))


def checked_lines(checked: Checked, signs: Signs) -> list[Text]:
    """What is said of one file."""
    file = clean(checked.file)
    if checked.definition is None:
        lines = [Text.assemble(signs.marked("failed"), (file, "bold"), f": {plural(len(checked.problems), 'problem')}")]
    else:
        steps = plural(len(checked.definition.steps), "step")
        valid = f": '{clean(checked.definition.name)}' is valid, {steps}"
        lines = [Text.assemble(signs.marked("succeeded"), (file, "bold"), valid)]
    for problem in checked.problems:
        lines += problem_lines(problem)
    for problem in checked.warnings:
        lines += problem_lines(problem, "warning: ")
    return lines


def problem_lines(problem: Problem, kind: str = "") -> list[Text]:
    """A problem on a line, its hint below."""
    where = Text(f"{clean(problem.path)}: " if problem.path else "", "bold")
    message = clean(problem.message).replace("\n", "\n    ")
    lines = [Text.assemble("  ", (kind, "yellow"), where, message)]
    if problem.hint:
        hint = clean(problem.hint).replace("\n", "\n      ")
        lines.append(Text(f"    {hint}", "dim"))
    return lines


def end_unless_valid(checked: Sequence[Checked]) -> None:
    """End the command with the worst of the files' codes."""
    worst = max(one.code for one in checked)
    if worst:
        raise Ended(worst)
