"""A DAG of Airflow as far as it is static: what both of its readers make and `airflow.py` carries over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.convert.naming import Names
from orchestrator.convert.report import Place


@dataclass(frozen=True, slots=True)
class Code:
    """A value that only running the program would give: its text, and its line."""

    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Seconds:
    """A timedelta."""

    value: float


@dataclass(frozen=True, slots=True)
class Moment:
    """A date and time as ISO 8601, with the name of its time zone if it has one."""

    text: str
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """What a task gives, or the part of it under `keys`."""

    task: str
    keys: tuple[str | int, ...] = ()


@dataclass(slots=True)
class AirTask:
    """`operator`: the class, without its module, or `@task`; `function`: what it calls; `each`: what
    `expand` is given."""

    id: str
    operator: str
    args: dict[str, Any] = field(default_factory=dict)
    function: str | None = None
    each: dict[str, Any] | None = None
    upstream: dict[str, None] = field(default_factory=dict)
    place: Place = ()
    line: int | None = None


@dataclass(slots=True)
class AirDag:
    """`args`: what the DAG is made with; `losses`: what could not be read, and `notes`: what may matter; each
    with its place and its line."""

    id: str
    args: dict[str, Any] = field(default_factory=dict)
    tasks: dict[str, AirTask] = field(default_factory=dict)
    losses: list[tuple[str, str, int | None]] = field(default_factory=list)
    notes: list[tuple[str, str, int | None]] = field(default_factory=list)
    doc: str | None = None
    zone: str | None = None
    # A task that is called again gets a number there: `f__1`.
    names: Names = field(default_factory=lambda: Names(first=1, between="__"))


def outputs(value: Any) -> Iterator[Output]:
    """Every task's output within a value."""
    if isinstance(value, Output):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from outputs(part)
