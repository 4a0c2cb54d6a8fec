"""What `orchestrator import` says of each file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from orchestrator.cli.marks import Signs
from orchestrator.cli.text import clean, plural
from orchestrator.cli.validate import problem_json, problem_lines
from orchestrator.convert.bring import Brought
from orchestrator.convert.report import Finding, Imported, Kind, Schedule
from orchestrator.errors import Problem

_STYLES = {Kind.LOST: "red", Kind.NOTE: "yellow", Kind.IGNORED: "dim"}


def brought_json(done: Sequence[Brought], written: Mapping[str, str]) -> dict[str, Any]:
    """The value that `--json` prints."""
    return {"items": [_file_json(one, written) for one in done]}


def _file_json(one: Brought, written: Mapping[str, str]) -> dict[str, Any]:
    return {
        "file": one.file,
        "engine": None if one.engine is None else one.engine.value,
        "problems": [problem_json(problem) for problem in one.problems],
        "workflows": [_workflow_json(workflow, written) for workflow in one.workflows],
    }


def _workflow_json(workflow: Imported, written: Mapping[str, str]) -> dict[str, Any]:
    return {
        "workflow": workflow.name,
        "document": workflow.document,
        "written": written.get(workflow.name),
        "lost": workflow.lost,
        "findings": [_finding_json(finding) for finding in workflow.findings],
        "functions": list(workflow.functions),
        "schedules": [_schedule_json(schedule) for schedule in workflow.schedules],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "path": finding.path,
        "line": finding.line,
        "step": finding.step,
        "message": finding.message,
        "hint": finding.hint,
    }


def _schedule_json(schedule: Schedule) -> dict[str, Any]:
    return {
        "workflow": schedule.workflow,
        "cron": schedule.cron,
        "interval_seconds": schedule.interval_seconds,
        "timezone": schedule.timezone,
        "input": schedule.input,
        "command": schedule.command,
    }


def brought_lines(one: Brought, written: Mapping[str, str], signs: Signs) -> list[Text]:
    """A file: why it could not be imported, and each workflow of it with what is said of it."""
    lines = []
    if one.problems or not one.workflows:
        state = "failed" if one.problems else "skipped"
        told = ": not imported" if one.problems else ": read with the workflow it names"
        lines.append(Text.assemble(signs.marked(state), (clean(one.file), "bold"), told))
    for problem in one.problems:
        lines += problem_lines(problem)
    for workflow in one.workflows:
        lines += _workflow_lines(one, workflow, written, signs)
    return lines


def _workflow_lines(one: Brought, workflow: Imported, written: Mapping[str, str], signs: Signs) -> list[Text]:
    lost = sum(finding.kind is Kind.LOST for finding in workflow.findings)
    told = f": '{clean(workflow.name)}', {plural(len(workflow.document['steps']), 'step')}"
    told += f", {lost} not carried over" if lost else ", all of it"
    if workflow.name in written:
        told += f", in {clean(written[workflow.name])}"
    sign = signs.marked("upstream_failed" if lost else "succeeded")
    lines = [Text.assemble(sign, (clean(one.file), "bold"), told)]
    for kind in Kind:
        for finding in workflow.findings:
            if finding.kind is kind:
                lines += _finding_lines(finding)
    if workflow.functions:
        lines.append(Text(f"  functions: {', '.join(map(clean, workflow.functions))}"))
    return [*lines, *(Text(f"  schedule: {clean(schedule.command)}") for schedule in workflow.schedules)]


def _finding_lines(finding: Finding) -> list[Text]:
    where = f"line {finding.line}, {finding.path}" if finding.line and finding.path else finding.path
    if finding.line and not finding.path:
        where = f"line {finding.line}"
    lines = problem_lines(Problem(where, finding.message, finding.hint))
    lines[0] = Text.assemble("  ", (f"{finding.kind.value}: ", _STYLES[finding.kind]), lines[0][2:])
    return lines
