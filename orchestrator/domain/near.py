"""What a person may have meant by a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

# Comparing is slow beside all else that is done with a wrong name; past this many, most hints would be luck.
_MOST = 2_000


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The nearest of the names, whatever its case; None when none is near."""
    known = [other for other in islice(names, _MOST) if other != name]
    by_folded = {other.casefold(): other for other in reversed(known)}
    near = difflib.get_close_matches(name.casefold(), by_folded, 1)
    return by_folded[near[0]] if near else None


def near_hint(name: str, names: Iterable[str]) -> str | None:
    """`did you mean 'charge'?` for the nearest of the names: the hint of a `Problem`."""
    near = nearest(name, names)
    return None if near is None else f"did you mean '{near}'?"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'charge'?`, the end of a sentence, or nothing when none is near."""
    hint = near_hint(name, names)
    return f"; {hint}" if hint else ""
