"""What a run of a document gives, once it has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step after the run; `attempts` counts its tries, `history` has each one's outcome and error; `items` are those
    of a step with `with_items`, each like a step."""

    name: str
    status: str
    reason: str | None
    input: Any
    output: Any
    error: dict[str, Any] | None
    attempts: int
    history: tuple[dict[str, Any], ...] = ()
    started_at: datetime | None = None
    finished_at: datetime | None = None
    child_run_id: str | None = None
    items: tuple[StepResult, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run after its end. `steps` by name, lifecycle handlers included; `duration` by the clock of the run.

    `children`: the runs that its steps started, in that order.
    """

    id: str
    workflow: str
    status: str
    input: Any
    output: Any
    error: dict[str, Any] | None
    vars: dict[str, Any]
    steps: dict[str, StepResult]
    duration: timedelta
    events: tuple[dict[str, Any], ...] = field(default=())
    depth: int = 0
    parent_run_id: str | None = None
    children: tuple[RunResult, ...] = ()
