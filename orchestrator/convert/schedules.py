"""Schedules that a source asks for, as the commands that make them."""

from __future__ import annotations

import json
import shlex
from typing import Any

from orchestrator.convert.report import Place, Report, Schedule
from orchestrator.convert.templates import literal
from orchestrator.domain.cron import cron_problems, zone_problems


def add_schedule(
    report: Report,
    place: Place,
    workflow: str,
    *,
    cron: str | None = None,
    every: float | None = None,
    zone: str | None = None,
    payload: Any = None,
) -> None:
    """Put a schedule into the report, or why there can be none."""
    problems = [*(cron_problems(cron) if cron is not None else ()), *(zone_problems(zone) if zone else ())]
    if every is not None and (every < 1 or every != int(every)):
        report.lost(place, f"every {every:g} seconds", "an interval is one second or more, and whole seconds")
    elif problems:
        report.lost(place, f"'{cron}': {problems[0].message}", problems[0].hint)
    else:
        seconds = None if every is None else int(every)
        command = _command(workflow, cron, seconds, zone, payload)
        report.schedules.append(Schedule(workflow, command, cron, seconds, zone, payload))


def _command(workflow: str, cron: str | None, every: int | None, zone: str | None, payload: Any) -> str:
    words = ["orchestrator", "schedule", "set", "--workflow", workflow]
    words += ["--cron", cron] if cron is not None else ["--every", f"{every}s"]
    words += ["--timezone", zone] if zone else []
    words += ["--input", _input(payload)] if payload is not None else []
    return shlex.join([*words, "--", workflow] if workflow.startswith("-") else [*words[:3], workflow, *words[3:]])


def _input(payload: Any) -> str:
    """The input as JSON. It is a template there: what looks like an expression is to stay as it is."""
    return json.dumps(_literal(payload), ensure_ascii=False)


def _literal(value: Any) -> Any:
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, dict):
        return {key: _literal(part) for key, part in value.items()}
    return [_literal(part) for part in value] if isinstance(value, list) else value
