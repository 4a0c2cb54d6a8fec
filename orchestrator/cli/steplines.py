"""What is said of a step on one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from orchestrator.cli.marks import Signs
from orchestrator.cli.text import ago, clean, error_line, json_line, one_line
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import Reason, RunStatus, StepStatus
from orchestrator.domain.times import duration
from orchestrator.domain.words import failed_source, open_sources, reason_in_words, waits_for
from orchestrator.store.reads import StepBrief

_BAR_WIDTH = 10


@dataclass(frozen=True, slots=True)
class Around:
    """What a step's line needs to know of its run. `statuses` by position; `now` is the database's clock."""

    plan: Plan
    statuses: Mapping[int, StepStatus]
    run: RunStatus
    now: datetime


def took(step: StepBrief, now: datetime) -> str:
    """How long its latest attempt runs or ran."""
    if step.started_at is None or step.status in (StepStatus.READY, StepStatus.QUEUED, StepStatus.PENDING):
        return ""
    return duration(((step.finished_at or now) - step.started_at).total_seconds())


def attempts(step: StepBrief) -> str:
    """`2 of 3`; nothing while there was and will be one attempt only."""
    if step.attempt == 0 or (step.attempt == 1 and step.max_attempts in (None, 1)):
        return ""
    return f"{step.attempt} of {step.max_attempts}" if step.max_attempts else str(step.attempt)


def says(step: StepBrief, around: Around, signs: Signs) -> Text:
    """Why the step is as it is: who holds it, its error, its reason, what it waits for, its progress."""
    said = _says(step, around, signs)
    if step.held_at is not None and not step.status.terminal:
        return Text.assemble((held(step, around.now), "yellow"), "; " if said else "", said)
    return said


def held(step: StepBrief, now: datetime) -> str:
    """`held by cli:ada 4 min ago: wrong card`."""
    because = f": {one_line(step.hold_reason)}" if step.hold_reason else ""
    when = f" {ago(step.held_at, now)}" if step.held_at else ""
    return f"held by {clean(step.held_by or '')}{when}{because}"


def _says(step: StepBrief, around: Around, signs: Signs) -> Text:
    match step.status:
        case StepStatus.FAILED:
            return Text(_failure(step), "red")
        case StepStatus.RUNNING:
            return _running(step, signs)
        case StepStatus.READY:
            return Text(_ready(step, around))
        case StepStatus.QUEUED:
            return Text(f"waits in queue '{clean(step.queue or '')}'", "dim")
        case StepStatus.PENDING:
            return Text(_pending(step, around), "dim")
        case StepStatus.UPSTREAM_FAILED:
            source = failed_source(around.plan, around.statuses, step.position)
            return Text(f"needs '{clean(source)}', which failed" if source else reason_in_words(step.reason), "dim")
        case StepStatus.WAITING:
            return Text(one_line(waits_for(step.wait or {}, around.now, step.child)), "dim")
        case StepStatus.SUCCEEDED:
            return Text("kept from the earlier run" if step.reused else reason_in_words(step.reason), "dim")
        case _:
            return Text(_ended(step), "dim")


def _error(step: StepBrief) -> str:
    return error_line(step.error_type, step.error_message) if step.error_type is not None else ""


def _failure(step: StepBrief) -> str:
    if step.reason in (None, Reason.ERROR):
        return _error(step)
    return f"{reason_in_words(step.reason)} ({_error(step)})"


def _ended(step: StepBrief) -> str:
    reason = reason_in_words(step.reason)
    said = one_line(step.error_message or "") if step.reason == Reason.FUNCTION else ""
    return f"{reason}: {said}" if said else reason


def _running(step: StepBrief, signs: Signs) -> Text:
    said = progress(step.progress, signs)
    if step.cancel_requested:
        said = Text.assemble(said, " " if said else "", ("asked to stop", "yellow"))
    return said


def _ready(step: StepBrief, around: Around) -> str:
    if step.next_attempt_at is None:
        paused = around.run is RunStatus.PAUSED
        if paused:
            return "ready; the run is paused"
        if step.held_at is not None:
            return "ready"
        if step.pool:
            return f"waits for slots of pool '{clean(step.pool)}'"
        return f"waits for room in queue '{clean(step.queue or '')}'"
    seconds = (step.next_attempt_at - around.now).total_seconds()
    when = f"next attempt in {duration(seconds)}" if seconds > 0 else "next attempt now"
    return f"{when}; the last one: {_error(step)}" if step.error_type else when


def _pending(step: StepBrief, around: Around) -> str:
    if step.position >= len(around.plan.steps):
        return ""
    names = open_sources(around.plan, around.statuses, step.position)
    return f"waits for {clean(names)}" if names else ""


def progress(value: Any, signs: Signs) -> Text:
    """`{"done": 3, "total": 10}` and a share between 0 and 1 as a bar; other JSON as it is."""
    if value is None:
        return Text()
    match value:
        case {"done": int() | float() as done, "total": int() | float() as total} if total > 0:
            share = done / total
            counted = f" {done:,} of {total:,}"
        case float() if 0 <= value <= 1:
            share, counted = value, ""
        case _:
            return Text(clean(value) if isinstance(value, str) else json_line(value))
    share = min(max(share, 0.0), 1.0)
    return Text.assemble((signs.bar(share, _BAR_WIDTH), "blue"), f" {int(share * 100)}%{counted}")
