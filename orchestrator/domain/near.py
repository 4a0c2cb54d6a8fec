"""What a person may have meant by a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice, takewhile

# Comparing is slow beside all else that is done with a wrong name; past this many, most hints would be luck.
_MOST = 2_000
# As alike as `difflib` has it, of 1.
_LEAST = 0.6


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The nearest of the names, whatever its case; None when none is near."""
    known = [other for other in islice(names, _MOST) if other != name]
    by_folded = {other.casefold(): other for other in reversed(known)}
    near = difflib.get_close_matches(name.casefold(), by_folded)
    return next((by_folded[other] for other in near if _differ_little(name.casefold(), other)), None)


def _differ_little(name: str, other: str) -> bool:
    """Whether they are alike also behind their last common dot; `bank.pay` and `bank.hire` are not."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False))
    start = "".join(pair[0] for pair in same).rfind(".") + 1
    return difflib.SequenceMatcher(None, other[start:], name[start:]).ratio() >= _LEAST


def near_hint(name: str, names: Iterable[str]) -> str | None:
    """`did you mean 'charge'?` for the nearest of the names: the hint of a `Problem`."""
    near = nearest(name, names)
    return None if near is None else f"did you mean '{near}'?"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'charge'?`, the end of a sentence, or nothing when none is near."""
    hint = near_hint(name, names)
    return f"; {hint}" if hint else ""
