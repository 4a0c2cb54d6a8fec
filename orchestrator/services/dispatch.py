"""Hand ready steps to the workers: queued by a committed transaction first, then sent."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from orchestrator.errors import Unreachable
from orchestrator.services.engine import Engine
from orchestrator.store import lease, transition
from orchestrator.store.transition import Queued

log = logging.getLogger(__name__)


def dispatch(engine: Engine, queues: Iterable[str]) -> int:
    """Send the best ready steps of each queue, as many as its window has room for; how many were sent.

    The window keeps the backlog in Postgres, where priority holds whatever the broker does. Two dispatchers at
    once pick different steps and may overshoot the window, which does no harm.
    """
    return sum(_dispatch(engine, queue) for queue in sorted(set(queues)))


def _dispatch(engine: Engine, queue: str) -> int:
    with engine.db.transaction(lazy=True) as conn:
        room = engine.settings.window - lease.count_queued(conn, queue)
        queued = transition.queue_ready(conn, queue, room) if room > 0 else []
    if queued:
        send(engine, queue, queued)
    return len(queued)


def send(engine: Engine, queue: str, queued: list[Queued]) -> None:
    """Send the hints. When the broker cannot be reached they stay queued, and the coordinator sends them again."""
    try:
        engine.transport.send(queue, queued)
    except Unreachable as error:
        log.warning("queue %s: %d steps wait for the broker: %s", queue, len(queued), error)
