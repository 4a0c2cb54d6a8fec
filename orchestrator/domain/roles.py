"""What a token may do."""

from __future__ import annotations

from enum import Enum
from functools import total_ordering


@total_ordering
class Role(Enum):
    """From the least to the most; each may do what those before it may.

    `viewer` reads. `operator` starts runs, steers them, sends signals, decides approvals, fires, pauses and
    backfills schedules, and tests and pauses alerts. `author` registers and deletes workflows, installs packs, and
    changes pools, schedules and alerts.
    `admin` makes and revokes tokens, changes apps and their groups, deletes runs, says how long they are kept, and
    reads the whole audit log.
    """

    VIEWER = "viewer"
    OPERATOR = "operator"
    AUTHOR = "author"
    ADMIN = "admin"

    def __lt__(self, other: Role) -> bool:
        return _RANKS[self] < _RANKS[other]

    def __str__(self) -> str:
        return self.value


_RANKS = {role: rank for rank, role in enumerate(Role)}
