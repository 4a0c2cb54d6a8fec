"""What a step function sees of its attempt: the parameter named `ctx`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Protocol


class AttemptLink(Protocol):
    """How a running attempt reaches the store; workers throttle it, tests answer at once."""

    def report(self, progress: Any | None) -> bool:
        """Store progress (None: nothing new), fenced; whether the attempt should come to its end.

        Raises `AttemptCanceled` when the claim no longer holds.
        """


@dataclass(frozen=True, slots=True)
class AttemptContext:
    """The attempt a function runs in. `attempt` counts from 1, lost attempts included."""

    run_id: str
    step: str
    attempt: int
    idempotency_key: str  # the same for all attempts of this step, or item, of this run
    log: logging.Logger
    _link: AttemptLink
    item_index: int | None = None  # in a step with `with_items`: which item this is, from 0

    def heartbeat(self, progress: Any = None) -> None:
        """Show `progress` (any JSON; `{"done": 3, "total": 10}` is drawn as a bar). Leases are kept without it.

        Raises `AttemptCanceled` when another worker has the step.
        """
        self._link.report(progress)

    @property
    def canceled(self) -> bool:
        """Whether someone asked the run to stop; a long function looks now and then, and returns."""
        return self._link.report(None)
