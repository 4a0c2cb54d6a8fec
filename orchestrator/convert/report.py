"""What is said of an import: what was lost, what is different here, what has no meaning here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from orchestrator.domain.paths import join

Place = tuple[str | int, ...]


class Kind(StrEnum):
    LOST = "lost"  # nothing here does this: a person has to decide
    NOTE = "note"  # carried over, but a person should know how
    IGNORED = "ignored"  # a key that has no meaning here


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing said of a source. `path` is a place in the source, `line` its line from 1 where it is known, `hint`
    what to do; `step` names the step here that it is about."""

    kind: Kind
    path: str
    message: str
    hint: str | None = None
    line: int | None = None
    step: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}{self.message}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule that the source asks for, and the command that makes it. One of `cron` and `interval_seconds`."""

    workflow: str
    command: str
    cron: str | None = None
    interval_seconds: float | None = None
    timezone: str | None = None
    input: Any = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A workflow of ours. `functions` are what its steps call: what a worker has to know of."""

    name: str
    document: Mapping[str, Any]
    text: str
    findings: tuple[Finding, ...] = ()
    functions: tuple[str, ...] = ()
    schedules: tuple[Schedule, ...] = ()

    @property
    def lost(self) -> bool:
        return any(finding.kind is Kind.LOST for finding in self.findings)


@dataclass(slots=True)
class Report:
    """Collects the findings of one workflow. Equal ones are kept once."""

    findings: dict[Finding, None] = field(default_factory=dict)
    schedules: list[Schedule] = field(default_factory=list)

    def lost(self, place: Place, message: str, hint: str | None = None, **more: Any) -> None:
        self._add(Finding(Kind.LOST, join(place), message, hint, **more))

    def note(self, place: Place, message: str, hint: str | None = None, **more: Any) -> None:
        self._add(Finding(Kind.NOTE, join(place), message, hint, **more))

    def ignored(self, place: Place, message: str = "has no meaning here", **more: Any) -> None:
        self._add(Finding(Kind.IGNORED, join(place), message, **more))

    def unknown(self, value: Mapping[str, Any], known: Iterable[str], place: Place, step: str | None = None) -> None:
        """Tell of keys that nobody has read."""
        for key in value:
            if key not in known:
                self.lost((*place, key), "is not a key that is known here", "see what it is for", step=step)

    def _add(self, finding: Finding) -> None:
        self.findings[finding] = None
