"""What ends a worker sooner: what sleeps until something happens is told that the worker stops."""

from __future__ import annotations

import os
from typing import Any

from celery import bootsteps, signals

from workers.bell import Bell


class Waking(bootsteps.StartStopStep):
    """Ends the wait of Celery's event loop, which looks only afterwards whether the worker is to stop.

    Python goes on with a wait that a signal has interrupted: the loop would sleep until its next timer, up to a second.
    A new connection to the broker clears the loop, and registers its steps anew.
    """

    def __init__(self, consumer: Any, **kwargs: Any) -> None:
        super().__init__(consumer, **kwargs)
        self._bell = Bell()
        signals.worker_shutting_down.connect(self._ring, weak=False)

    def _ring(self, **_: Any) -> None:
        self._bell.ring()

    def register_with_event_loop(self, consumer: Any, hub: Any) -> None:
        """Called by Celery before its loop begins; pools without one do not call it."""
        hub.add_reader(self._bell.fileno(), self.silence)

    def silence(self) -> None:
        """The loop is awake; it looks itself why."""
        self._bell.silence()


def leave_at_once(pid: int, exitcode: int, **_: Any) -> None:
    """End a pool process that has nothing left to do: billiard lets each sleep for a second first."""
    os._exit(exitcode)
