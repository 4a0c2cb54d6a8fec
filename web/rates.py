"""How often one token may ask. In the memory of this process, and bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from web.bounded import Bounded
from web.errors import TooManyRequests

_MOST_TOKENS = 10_000
_BURST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Tank:
    """What is left to take, at a moment; `granted`: whether the last request was."""

    left: float
    at: float
    granted: bool


class Rates:
    """`rate` requests a second for each token, a second's worth at once; 0: as many as they like."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._most = max(1.0, rate * _BURST_SECONDS)
        self._tanks: Bounded[str, _Tank] = Bounded(_MOST_TOKENS)

    def take(self, token_id: str) -> None:
        """Count one request; raises `TooManyRequests`."""
        if not self._rate:
            return
        tank = self._tanks.update(token_id, self._asked)
        if not tank.granted:
            told = f"this token may ask {self._rate:g} times a second (ORCHESTRATOR_API_RATE)"
            raise TooManyRequests(told, retry_after=(1 - tank.left) / self._rate)

    def _asked(self, tank: _Tank | None) -> _Tank:
        now = self._clock()
        left = self._most if tank is None else min(self._most, tank.left + (now - tank.at) * self._rate)
        return _Tank(left - 1, now, True) if left >= 1 else _Tank(left, now, False)
