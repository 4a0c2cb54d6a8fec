"""The last steps of every import: the order of keys, comments, and our own validation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.convert.report import Finding, Imported, Kind, Report
from orchestrator.convert.templates import HINT, absent
from orchestrator.convert.yaml_writer import COMMENTS, plain, printable, write
from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.domain.parse import parse
from orchestrator.domain.paths import follow
from orchestrator.errors import InvalidDefinition, Problem

_TOP = [
    "name",
    "version",
    "label",
    "description",
    "tags",
    "input_schema",
    "output_schema",
    "vars",
    "timeout",
    "failure_mode",
    "max_active_runs",
    "concurrency_key",
    "on_limit",
    "defaults",
    "steps",
    "output",
    "on_success",
    "on_failure",
    "on_cancel",
    "on_finish",
]
_STEP = [
    "name",
    "label",
    "description",
    "function",
    "workflow",
    "wait_for",
    "sleep",
    "pass",
    "with_items",
    "input",
    "depends_on",
    "trigger_rule",
    "join",
    "on_unreachable",
    "when",
    "queue",
    "priority",
    "pool",
    "slots",
    "timeout",
    "total_timeout",
    "retry",
    "on_error",
    "on_lost",
    "cache",
    "publish",
    "publish_on_failure",
    "compensate",
]
_PART = re.compile(r"\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\.?([^.\[\]]+)")
_ROUNDS = 10
_CONDITIONS = ("when", "while")


class NotImported(Exception):
    """Nothing valid can be made of a source; the report says why."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


def finish(document: dict[str, Any], report: Report, *, source: str, limits: Limits = LIMITS) -> Imported:
    """The document in order, valid, and as text. What our validation refuses is given up and reported; raises
    `NotImported` if it refuses more than values."""
    document = _ordered(document)
    _mend(document, report, limits)
    _comment(document, report, source)
    steps = [
        *document["steps"],
        *(document[h] for h in _TOP if h.startswith("on_") and h in document and h != "on_limit"),
    ]
    functions = {step["function"]: None for step in steps if "function" in step}
    return Imported(
        name=str(document["name"]),
        document=plain(document),
        text=write(document),
        findings=tuple(report.findings),
        functions=tuple(sorted(functions)),
        schedules=tuple(report.schedules),
    )


def _ordered(document: Mapping[str, Any]) -> dict[str, Any]:
    made = {key: document[key] for key in _TOP if key in document}
    made["steps"] = [{key: step[key] for key in _STEP if key in step and step[key] != {}} for step in document["steps"]]
    for step in made["steps"]:
        if "depends_on" in step:
            step["depends_on"] = [_short(edge) for edge in step["depends_on"]]
    return made


def _short(edge: Any) -> Any:
    return edge["step"] if isinstance(edge, Mapping) and edge.keys() == {"step"} else edge


def _mend(document: dict[str, Any], report: Report, limits: Limits) -> None:
    """Give up values that our validation refuses, until it refuses none."""
    for _ in range(_ROUNDS):
        problems = _problems(document, limits)
        if not problems:
            return
        mended = [_give_up(document, problem, report) for problem in problems if problem.path]
        if not any(mended):
            raise NotImported(problems)
    raise NotImported(_problems(document, limits))


def _problems(document: Mapping[str, Any], limits: Limits) -> list[Problem]:
    try:
        parse(plain(document), limits=limits)
    except InvalidDefinition as error:
        return list(error.problems)
    return []


def _give_up(document: dict[str, Any], problem: Problem, report: Report) -> bool:
    """Put something that fails in the place of a text that is refused; whether there was one."""
    keys = [int(n) if n else q.replace("\\'", "'") or p for n, q, p in _PART.findall(problem.path)]
    around = follow(document, keys[:-1])
    value = follow(document, keys)
    if not keys or not isinstance(value, str) or not isinstance(around, dict | list) or "not carried over" in value:
        return False
    step = document["steps"][keys[1]] if keys[0] == "steps" and len(keys) > 2 and isinstance(keys[1], int) else {}
    if keys[-1] in ("function", "name", "step", "workflow"):
        return False
    report.lost(tuple(keys), f"`{value[:80]}`: {problem.message}", problem.hint, step=step.get("name"))
    failing = absent(value)
    around[keys[-1]] = failing if keys[-1] in _CONDITIONS else "{{ " + failing + " }}"
    return True


def _comment(document: dict[str, Any], report: Report, source: str) -> None:
    """Say above each step what of it was lost, and at the top what is of the whole."""
    names = {step["name"] for step in document["steps"]}
    lost = [finding for finding in report.findings if finding.kind is Kind.LOST]
    top = [f"Imported from {source}."]
    top += [_line(finding) for finding in lost if finding.step not in names]
    top += [f"Schedule: {schedule.command}" for schedule in report.schedules]
    document[COMMENTS] = [printable(" ".join(line.split())) for line in top]
    told: dict[str | None, list[str]] = {}
    for finding in lost:
        told.setdefault(finding.step, []).append(_line(finding))
    for step in document["steps"]:
        if step["name"] in told:
            step[COMMENTS] = told[step["name"]]


def _line(finding: Finding) -> str:
    """A finding as a comment; what helps with every expression is said elsewhere."""
    shown = replace(finding, hint=None) if finding.hint == HINT else finding
    return printable(" ".join(f"Not carried over: {shown}".split()))
