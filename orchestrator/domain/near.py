"""What a person may have meant by a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

# Comparing is slow beside all else that is done with a wrong name; past this many, most hints would be luck.
_MOST = 2_000


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'charge'?` for the nearest of the names, or nothing when none is near."""
    known = [other for other in islice(names, _MOST) if other != name]
    by_folded = {other.casefold(): other for other in reversed(known)}
    near = difflib.get_close_matches(name.casefold(), by_folded, 1)
    return f"; did you mean '{by_folded[near[0]]}'?" if near else ""
