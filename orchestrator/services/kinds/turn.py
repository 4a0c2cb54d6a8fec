"""A function with a rate: an attempt that comes too early waits for its turn, without a worker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from orchestrator.domain.outcome import Outcome
from orchestrator.domain.rate import Rate
from orchestrator.services.claim import Claimed
from orchestrator.services.engine import Engine
from orchestrator.store import rates


def wait_for_turn(engine: Engine, claimed: Claimed, function: str, rate: Rate) -> Outcome | None:
    """The wait for the attempt's turn; None when the function may be called now.

    The turn is given when the attempt is claimed, so that the order is that of a dispatch; it is not given back.
    """
    seconds = rates.reserve(engine.db, function, rate, claimed.step_id)
    if seconds <= 0:
        return None
    shown = f"{rate.count} times in {rate.period:g} s"
    until = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()  # for people; the row's `wake_at` counts
    return Outcome.suspended({"for": "rate", "function": function, "rate": shown, "until": until}, seconds)
