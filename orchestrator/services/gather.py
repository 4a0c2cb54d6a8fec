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
_NEVER = float("-inf")  # the clock begins with the machine: 0 may be a moment ago
_COMMIT_LOOKS = 10
# A name is looked at again no more often after it was named: what named it is old by then, and others may make it young
# again for ever.
_LOOKS_AGAIN = 5
Act = Callable[[set[str]], object]
Later = Callable[[set[str]], set[str]]  # it gives the names that are to be looked at again


class Gathered:
    """Queues that starts made steps ready for, until they are dispatched (docs/adr/0016).

    `seconds`: a queue that was named less long ago is gathered for as long; 0 gathers nothing.
    """

    def __init__(self, seconds: float = 0.0, rest: Callable[[float], object] = time.sleep) -> None:
        self._seconds, self._rest = seconds, rest
        self._lock = threading.Lock()
        self._named: dict[str, float] = {}
        self._waiting: dict[str, int] = {}  # with the number of looks that they are good for
        self._thread: threading.Thread | None = None
        self._committing: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()

    def add(self, names: Iterable[str], act: Act, later: Later) -> None:
        """Do `act` now for those that were not named for a while, and `later` soon for the others, in a thread."""
        names, now = set(names), time.monotonic()
        with self._lock:
            late = {name for name in names if now - self._named.get(name, _NEVER) < self._seconds}
            self._named |= dict.fromkeys(names, now)
            self._gather(late, 1, later)
        if names - late:
            act(names - late)

    def add_at_commit(self, connection: Connection, names: Iterable[str], later: Later) -> None:
        """Do `later` soon after the connection's transaction is committed; never if it is not."""
        if not self._seconds:
            return
        known = self._committing.get(connection)
        if known is None:
            known = self._committing[connection] = set()
            watch_ends(connection, partial(self._ends, known, later))
        known.update(names)

    def _ends(self, names: set[str], later: Later, committing: bool) -> None:
        """Told right before the commit, which may take a while: nothing to be found yet is no reason to give up."""
        with self._lock:
            if committing:
                self._gather(names, _COMMIT_LOOKS, later)
            names.clear()

    def finish(self) -> None:
        """Wait until what is gathered is dispatched."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _gather(self, names: Iterable[str], looks: int, later: Later) -> None:
        """Look at them so often, whatever is said of them, and then as long as that is to be done again."""
        for name in names:
            self._waiting[name] = max(looks + _LOOKS_AGAIN, self._waiting.get(name, 0))
        if self._waiting and self._thread is None:
            # No daemon: a process that ends waits the moment until its last starts are dispatched.
            self._thread = threading.Thread(target=self._hand_on, args=(later,), name="orchestrator-starts")
            self._thread.start()

    def _hand_on(self, later: Later) -> None:
        while names := self._next():
            again = _done_safely(later, set(names))
            with self._lock:
                for name, looks in names.items():
                    if looks > 1 + _LOOKS_AGAIN or (looks > 1 and name in again):
                        self._waiting[name] = max(looks - 1, self._waiting.get(name, 0))

    def _next(self) -> dict[str, int]:
        """What has gathered in a moment. When nothing has, the thread ends."""
        self._rest(self._seconds)
        with self._lock:
            names, self._waiting = self._waiting, {}
            if not names:
                self._thread = None
            return names


def _done_safely(later: Later, names: set[str]) -> set[str]:
    try:
        return later(names)
    except Unreachable as error:
        log.warning("ready steps are left to the coordinator: %s", error)
    except Exception:  # noqa: BLE001 - nobody waits for this thread; the coordinator does its work
        log.exception("ready steps are left to the coordinator")
    return set()
