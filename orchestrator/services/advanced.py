"""What an advance led to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from orchestrator.domain.cascade import Ended
from orchestrator.services.scope import RunScope


@dataclass(frozen=True, slots=True)
class Advanced:
    """`ready`: (position, queue) of the run's steps that may start now; `others`: queues of others, also of other runs.

    `halting`: see services/halt.py. `child_over`: the run has ended, and has a parent, which is to be told
    (services/tell.py).
    """

    ready: tuple[tuple[int, str], ...] = ()
    halting: bool = False
    others: frozenset[str] = frozenset()
    child_over: bool = False

    @property
    def queues(self) -> frozenset[str]:
        return self.others.union(queue for _, queue in self.ready)


# Handed from advance.py to what it calls, and what starts steps through it.
Advance = Callable[[Connection, RunScope, Sequence[Ended], Iterable[int]], Advanced]
# Handed from close.py likewise.
Close = Callable[[Connection, RunScope, Advance], Advanced]
