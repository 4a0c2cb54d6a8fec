"""What a rehearsed run waits for without a worker: time, and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from orchestrator.domain.inputs import check_payload
from orchestrator.domain.times import TEN_YEARS, read_time
from orchestrator.errors import InvalidInput
from orchestrator.replay.journal import End, Entry


def seconds_until(until: Any, now: float) -> float | None:
    """How long a sleep takes, given seconds or a moment's text; None for what no sleep can be."""
    if isinstance(until, int | float) and not isinstance(until, bool):
        return float(until) if 0 <= until <= TEN_YEARS else None
    at = read_time(until) if isinstance(until, str) else None
    return None if at is None or at.timestamp() - now > TEN_YEARS else max(at.timestamp() - now, 0.0)


NO_SLEEP = End(
    "failed", None, {"type": "ExpressionError", "message": "it can be slept ten years at most, and not back"}
)


@dataclass(frozen=True, slots=True)
class Awaited:
    """An event that a run waits for."""

    entry: Entry
    event: str
    schema: Mapping[str, Any] | None

    def end(self, payload: Any) -> End:
        """Raises `InvalidInput` for a payload that does not fit."""
        problems = [] if self.schema is None else check_payload(self.schema, payload)
        if problems:
            raise InvalidInput(problems, f"event '{self.event}' does not fit")
        return End("succeeded", payload)


def too_late(event: str, until: datetime) -> End:
    return End(
        "failed", None, {"type": "WaitTimeout", "message": f"no event '{event}' came before {until.isoformat()}"}
    )
