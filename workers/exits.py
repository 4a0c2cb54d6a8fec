"""How the processes of a prefork pool died."""

from __future__ import annotations

import signal
from typing import Any


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
        code = None if process is None else process.exitcode
        if code is None:
            return "it is gone"
        return f"killed by {_signal(-code)}" if code < 0 else f"exit code {code}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
