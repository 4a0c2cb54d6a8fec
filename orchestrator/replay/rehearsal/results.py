"""What a rehearsal gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A function that was called: by a step of the workflow's function, or on a worker (`verb` step or call).

    `name` is that of the step, with an ordinal where it is repeated; `function` the registered name, else that of the
    callable; `input` its arguments by name. `status`, `output` and `error` (`type`, `message`) are those of its end.
    """

    verb: str
    name: str
    function: str
    input: Mapping[str, Any]
    status: str
    output: Any
    error: Mapping[str, Any] | None
    attempts: int
    at: datetime
    took: timedelta


@dataclass(frozen=True, slots=True)
class CodeResult:
    """A run of a code-first workflow after its end.

    `history` is what `replay` takes and `orchestrator journal RUN --json` gives: its last generation. `calls` are those
    of all generations, in the order in which they ended; `sleeps` what it slept, `duration` all by the clock of the
    run. `progress` is what it showed, `traceback` where what failed it was raised. `children` are results like this
    one, or those of documents; a child that the test gave has `workflow`, `input`, `status`, `output` and `error`.
    """

    id: str
    workflow: str
    status: str
    input: Any
    output: Any
    error: Mapping[str, Any] | None
    history: dict[str, Any]
    calls: Sequence[Call]
    sleeps: Sequence[timedelta]
    children: Sequence[Any]
    progress: Sequence[Any]
    duration: timedelta
    generations: int = 1
    traceback: str | None = None

    def called(self, name: str) -> list[Mapping[str, Any]]:
        """The inputs of the calls of this function, or of the steps of this name, in their order."""
        return [call.input for call in self.calls if name in (call.function, call.name.partition("#")[0], call.name)]


@dataclass(frozen=True, slots=True)
class Signal:
    """An event that comes `after` so many seconds. `to`: the child it is for, by its child id or its workflow."""

    name: str
    payload: Any
    after: float
    to: str | None


@dataclass(frozen=True, slots=True)
class Cancel:
    """The run is canceled `after` so many seconds."""

    after: float


def seconds_of(after: float | timedelta) -> float:
    return after.total_seconds() if isinstance(after, timedelta) else float(after)
