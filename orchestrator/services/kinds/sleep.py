"""`sleep`: wait for a number of seconds, or until a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from orchestrator.domain.outcome import Outcome
from orchestrator.domain.times import TEN_YEARS, read_time
from orchestrator.errors import ExpressionError
from orchestrator.services.kinds.half import Half, Turn


def sleep(half: Half) -> Turn:
    """Wait until it is time; a time that has passed is no wait. The output is null."""
    until = _until(half) if half.wait is None else datetime.fromisoformat(half.wait["until"])
    left = (until - half.now).total_seconds()
    if half.timeout is not None:
        return Turn(Outcome.timed_out(half.timeout))
    if left > 0:
        return Turn(Outcome.suspended({"for": "time", "until": until.isoformat()}, left))
    return Turn(Outcome.succeeded(None, "null"))


def _until(half: Half) -> datetime:
    wanted: Any = half.scope.render(half.step.sleep)
    if isinstance(wanted, int | float) and not isinstance(wanted, bool) and 0 <= wanted <= TEN_YEARS:
        return half.now + timedelta(seconds=wanted)
    at = read_time(wanted) if isinstance(wanted, str) else None
    if at is None or (at - half.now).total_seconds() > TEN_YEARS:
        known = "seconds, or a time such as 2026-12-24T18:00:00Z, ten years away at most"
        raise ExpressionError(f"`sleep` must become {known}; not {wanted!r:.80}")
    return at
