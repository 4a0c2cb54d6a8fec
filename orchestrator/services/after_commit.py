"""What follows a commit, and is not lost when it cannot be done at once."""

from __future__ import annotations

import logging
from collections.abc import Callable

from orchestrator.errors import Locked, Unreachable

log = logging.getLogger(__name__)


def now_or_later(act: Callable[[], frozenset[str]]) -> frozenset[str]:
    """Do what the coordinator would do too, and leave it to that where the database does not let us; what it gave."""
    try:
        return act()
    except (Unreachable, Locked) as error:
        log.warning("what follows is left to the coordinator: %s", error)
        return frozenset()
