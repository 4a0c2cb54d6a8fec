"""How often a function may be called: `10/s`, `100/m`, `5000/h`, `2 per 30 s` as `2/30s`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RATE = re.compile(r"([1-9]\d{0,8})\s*/\s*([1-9]\d{0,5})?\s*([smhd])")


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` calls in `period` seconds, of all workers together; so many may come at once."""

    count: int
    period: float

    @property
    def spacing(self) -> float:
        """Seconds from call to call when they come evenly."""
        return self.period / self.count


def parse_rate(text: str) -> Rate:
    """The rate a text like `10/s` or `2/30s` stands for; raises `ValueError`."""
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"a rate is written like '10/s', '100/m', '5000/h' or '2/30s', not '{text:.40}'")
    count, periods, unit = found.groups()
    return Rate(int(count), int(periods or 1) * _UNITS[unit])
