"""Hand ready steps to the workers: queued by a committed transaction first, then sent."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from functools import partial

from sqlalchemy import Connection

from orchestrator.errors import Unreachable
from orchestrator.services.engine import Engine
from orchestrator.store import batch
from orchestrator.store.transition import Queued

log = logging.getLogger(__name__)
_LEAST = 4
# Who runs short steps asks its queue for more sooner than that; what nobody has taken by then is sent.
_PATIENCE_SECONDS = 0.02
_COMMIT_PATIENCE_SECONDS = 0.01


def dispatch(engine: Engine, queues: Iterable[str]) -> int:
    """Send the best ready steps of each queue, as many as its window has room for; how many were sent.

    The window keeps the backlog in Postgres, where priority holds whatever the broker does. Two dispatchers at
    once pick different steps and may overshoot the window, which does no harm. Who has no broker tells the
    coordinators.
    """
    if not engine.transport.sends:
        _tell(engine, queues)
        return 0
    return sum(_dispatch(engine, queue)[0] for queue in sorted(set(queues)))


def dispatch_starts(engine: Engine, queues: Iterable[str], connection: Connection | None = None) -> None:
    """Dispatch what starts have made ready: together with what follows within a moment (docs/adr/0016).

    With `connection`, whose transaction they are part of, once that is committed.
    """
    if connection is not None and not engine.transport.sends:
        if any(queues):
            engine.ring.at_commit(connection)
    elif connection is None:
        later = partial(_dispatch_gathered, engine, _PATIENCE_SECONDS)
        engine.starts.add(queues, partial(dispatch, engine), later)
    else:
        later = partial(_dispatch_gathered, engine, _COMMIT_PATIENCE_SECONDS)
        engine.starts.add_at_commit(connection, queues, later)


def _tell(engine: Engine, queues: Iterable[str]) -> None:
    if any(queues):
        engine.ring.now(engine.db)


def _dispatch_gathered(engine: Engine, patience: float, queues: set[str]) -> set[str]:
    """Send what has been ready for `patience` seconds; which queues have more, that a worker may take by itself."""
    if not engine.transport.sends:
        _tell(engine, queues)
        return set()
    return {queue for queue in queues if _dispatch(engine, queue, patience)[1]}


def _dispatch(engine: Engine, queue: str, patience: float = 0.0) -> tuple[int, bool]:
    """How many were sent, and whether others may have to be."""
    queued, left = batch.queue_ready(engine.db, queue, _window(engine, queue), patience)
    for name, steps in queued.items():
        send(engine, name, steps)
    return sum(map(len, queued.values())), left


def _window(engine: Engine, queue: str) -> int:
    """A message for each slot of the queue keeps its workers busy: what they have begun with, they go on from."""
    slots = engine.slots.of(engine.db, queue)
    return min(engine.settings.window, max(_LEAST, slots)) if slots else engine.settings.window


def send(engine: Engine, queue: str, queued: list[Queued]) -> None:
    """Send the hints. When the broker cannot be reached they stay queued, and the coordinator sends them again."""
    began = time.monotonic()
    try:
        engine.transport.send(queue, queued)
        engine.tally.observe("broker", time.monotonic() - began)
    except Unreachable as error:
        about = {"queue": queue}
        log.warning("queue %s: steps that wait for the broker: %d (%s)", queue, len(queued), error, extra=about)
