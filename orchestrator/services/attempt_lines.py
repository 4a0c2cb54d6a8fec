"""Store what an attempt printed, a portion a transaction.

A transaction that stores lines holds the step's row, and what waits for it are cancels, leases and the coordinator.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.store import logs
from orchestrator.store.db import Database
from orchestrator.store.logs import LogLine

PORTION_LINES = 500
PORTION_CHARACTERS = 1_000_000


def store_lines(db: Database, step_id: str, token: str, lines: list[LogLine], *, leave: bool = False) -> bool:
    """Store the lines, fenced, and take what was stored out of `lines`: calling again stores none twice.

    With `leave` the last portion stays in `lines`, to be stored with the outcome. False, and `lines` is emptied, when
    the claim no longer holds. Raises `Unreachable`.
    """
    while lines:
        portion = _portion(lines)
        if leave and len(portion) == len(lines):
            return True
        with db.transaction(lazy=True) as conn:
            holds = logs.append_logs(conn, step_id, token, portion)
        if not holds:
            lines.clear()
            return False
        del lines[: len(portion)]
    return True


def _portion(lines: Sequence[LogLine]) -> Sequence[LogLine]:
    """The first lines, at least one, within the bounds."""
    characters = 0
    for count, line in enumerate(lines[:PORTION_LINES]):
        characters += len(line.message)
        if count and characters > PORTION_CHARACTERS:
            return lines[:count]
    return lines[:PORTION_LINES]
