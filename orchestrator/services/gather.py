"""Names that come thick and fast, handed on together."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from weakref import WeakKeyDictionary

from sqlalchemy import Connection

from orchestrator.errors import Unreachable
from orchestrator.store.db import watch_ends

log = logging.getLogger(__name__)
Act = Callable[[set[str]], object]


class Gathered:
    """Queues that starts made steps ready for, until they are dispatched (docs/adr/0016).

    `seconds`: a queue that was named less long ago is gathered for as long; 0 gathers nothing.
    """

    def __init__(self, seconds: float = 0.0, rest: Callable[[float], object] = time.sleep) -> None:
        self._seconds, self._rest = seconds, rest
        self._lock = threading.Lock()
        self._named: dict[str, float] = {}
        self._waiting: set[str] = set()
        self._thread: threading.Thread | None = None
        self._committing: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()

    def add(self, names: Iterable[str], act: Act) -> None:
        """Do the act: now for those that were not named for a while, for the others soon, in a thread."""
        names, now = set(names), time.monotonic()
        with self._lock:
            late = {name for name in names if now - self._named.get(name, 0.0) < self._seconds}
            self._named |= dict.fromkeys(names, now)
            self._gather(late, act)
        if names - late:
            act(names - late)

    def add_at_commit(self, connection: Connection, names: Iterable[str], act: Act) -> None:
        """Do the act soon after the connection's transaction is committed; never if it is not."""
        if not self._seconds:
            return
        known = self._committing.get(connection)
        if known is None:
            known = self._committing[connection] = set()
            watch_ends(connection, partial(self._ends, known, act))
        known.update(names)

    def _ends(self, names: set[str], act: Act, committing: bool) -> None:
        """Told right before the commit; what is gathered is dispatched long after it."""
        with self._lock:
            if committing:
                self._gather(names, act)
            names.clear()

    def finish(self) -> None:
        """Wait until what is gathered is dispatched."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _gather(self, names: set[str], act: Act) -> None:
        self._waiting |= names
        if self._waiting and self._thread is None:
            # No daemon: a process that ends waits the moment until its last starts are dispatched.
            self._thread = threading.Thread(target=self._hand_on, args=(act,), name="orchestrator-starts")
            self._thread.start()

    def _hand_on(self, act: Act) -> None:
        while True:
            self._rest(self._seconds)
            with self._lock:
                names, self._waiting = self._waiting, set()
                if not names:
                    self._thread = None
                    return
            try:
                act(names)
            except Unreachable as error:
                log.warning("ready steps are left to the coordinator: %s", error)
            except Exception:  # noqa: BLE001 - nobody waits for this thread; the coordinator does its work
                log.exception("ready steps are left to the coordinator")
