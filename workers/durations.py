"""How long the functions of this process take, and so how many attempts may share a hand."""

from __future__ import annotations

from dataclasses import dataclass, field

# A hand is to be through in 10 ms. A function is short when its calls lately took 2 ms in the mean, tiny 0.2 ms. The
# mean and not the worst: on a busy machine some calls of the quickest function are kept waiting for a processor.
HAND_SECONDS = 0.010
SHORT_SECONDS = 0.002
TINY_SECONDS = 0.0002
MOST = 50
_WEIGHT = 0.05  # of the latest call


@dataclass(slots=True)
class Durations:
    """The mean of each function's recent calls, in seconds. Functions that must not run twice are never short."""

    _means: dict[str, float] = field(default_factory=dict)
    _alone: set[str] = field(default_factory=set)

    def note(self, function: str, seconds: float, *, repeatable: bool) -> None:
        """A call took `seconds`."""
        mean = self._means.get(function, seconds)
        self._means[function] = mean + _WEIGHT * (seconds - mean)
        if not repeatable:
            self._alone.add(function)

    def peers(self, function: str) -> tuple[int, list[str]]:
        """How many attempts of functions like this one may share a hand, and which these functions are."""
        for limit in (TINY_SECONDS, SHORT_SECONDS):
            if self._is(function, limit):
                room = min(MOST, int(HAND_SECONDS / limit))
                return room, [name for name in self._means if self._is(name, limit)]
        return 1, []

    def _is(self, function: str, limit: float) -> bool:
        return function not in self._alone and self._means.get(function, limit * 2) <= limit
