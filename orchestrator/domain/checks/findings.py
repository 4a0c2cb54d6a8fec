"""Where the checks put what they find."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from orchestrator.domain.definition import Definition, Step
from orchestrator.domain.near import near_hint
from orchestrator.domain.paths import child
from orchestrator.errors import Problem

# Looking for near names among thousands takes milliseconds each.
_MOST_HINTS = 30


@dataclass(slots=True)
class Findings:
    """Problems in the order found, each path and message once."""

    problems: list[Problem] = field(default_factory=list)
    _seen: set[tuple[str, str]] = field(default_factory=set)
    _hints: int = 0

    def add(self, path: str, message: str, hint: str | None = None) -> None:
        if (path, message) not in self._seen:
            self._seen.add((path, message))
            self.problems.append(Problem(path, message, hint))

    def near(self, name: str, names: Collection[str]) -> str | None:
        """A hint at the nearest of the names; the first few of a document only."""
        self._hints += 1
        if self._hints > _MOST_HINTS:
            return None
        return near_hint(name, names)


class Draft:
    """A definition with the document it was built from, which tells where its parts stand."""

    def __init__(self, document: Mapping[str, Any], definition: Definition) -> None:
        self.document, self.definition = document, definition

    @cached_property
    def first_of(self) -> dict[str, int]:
        """Where each step's name stands first."""
        places: dict[str, int] = {}
        for index, step in enumerate(self.definition.steps):
            places.setdefault(step.name, index)
        return places

    @cached_property
    def names(self) -> dict[str, Step]:
        """Steps by name."""
        return {step.name: step for step in reversed(self.definition.steps)}

    def raw(self, index: int) -> Mapping[str, Any]:
        """A step as it is written."""
        written: Mapping[str, Any] = self.document["steps"][index]
        return written

    def place(self, index: int, key: str) -> str:
        """The path of a step's key: in the step, or in `defaults` where it comes from there."""
        return child(f"steps[{index}]", key) if key in self.raw(index) else child("defaults", key)

    def handler_place(self, name: str, key: str) -> str:
        """The same for a lifecycle handler."""
        return child(name, key) if key in self.document[name] else child("defaults", key)
