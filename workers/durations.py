"""How long the functions of this process take, and so how many attempts may share a hand."""

from __future__ import annotations

from dataclasses import dataclass, field

# A hand is to be through in 10 ms. A function is short when its calls took at most 2 ms lately, tiny at most 0.2 ms.
HAND_SECONDS = 0.010
SHORT_SECONDS = 0.002
TINY_SECONDS = 0.0002
MOST = 50
_FADES = 0.95  # what a slow call counts for after each later one


@dataclass(slots=True)
class Durations:
    """The slowest recent call of each function, fading; seconds. Functions that must not run twice are never short."""

    _peaks: dict[str, float] = field(default_factory=dict)
    _alone: set[str] = field(default_factory=set)

    def note(self, function: str, seconds: float, *, repeatable: bool) -> None:
        """A call took `seconds`."""
        self._peaks[function] = max(seconds, self._peaks.get(function, 0.0) * _FADES)
        if not repeatable:
            self._alone.add(function)

    def peers(self, function: str) -> tuple[int, list[str]]:
        """How many attempts of functions like this one may share a hand, and which these functions are."""
        for limit in (TINY_SECONDS, SHORT_SECONDS):
            if self._is(function, limit):
                room = min(MOST, int(HAND_SECONDS / limit))
                return room, [name for name in self._peaks if self._is(name, limit)]
        return 1, []

    def _is(self, function: str, limit: float) -> bool:
        return function not in self._alone and self._peaks.get(function, limit * 2) <= limit
