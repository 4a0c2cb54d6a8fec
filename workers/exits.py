"""How the processes of a prefork pool died."""

from __future__ import annotations

import signal
import time
from typing import Any

_FETCHED_SECONDS = 1.0
_LOOK_SECONDS = 0.001


class Exits:
    """Remembers the pool's processes, since the pool forgets those that died."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._known: dict[int, Any] = {}

    def look(self) -> None:
        """Note who is there."""
        for process in list(getattr(getattr(self._pool, "_pool", None), "_pool", None) or ()):
            self._known[process.pid] = process

    def how(self, pid: int) -> str:
        """Such as `killed by SIGKILL`; for one whose end nobody saw, `it is gone`."""
        process = self._known.pop(pid, None)
        code = None if process is None else _code_of(process)
        if code is None:
            return "it is gone"
        return f"killed by {_signal(-code)}" if code < 0 else f"exit code {code}"


def _code_of(process: Any) -> int | None:
    """Of one that is dead. It has none for a moment, when the pool's own thread has just fetched it from the kernel and
    not written it down."""
    ends = time.monotonic() + _FETCHED_SECONDS
    while (code := process.exitcode) is None and time.monotonic() < ends:
        time.sleep(_LOOK_SECONDS)
    return None if code is None else int(code)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
