"""A bell that other processes ring: one waits, those forked from it wake it up."""

from __future__ import annotations

import os
import select
from contextlib import suppress

_MUCH = 4096


class Bell:
    """Made before the fork. Rung while nobody waits, it ends the next wait."""

    def __init__(self) -> None:
        self._out, self._into = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._into, False)
        self._waiting = select.poll()
        self._waiting.register(self._out, select.POLLIN)

    def ring(self) -> None:
        """End the wait."""
        with suppress(BlockingIOError):  # full: it has been rung often enough
            os.write(self._into, b".")

    def wait(self, seconds: float) -> None:
        """Sleep until it rings, for `seconds` at most."""
        if self._waiting.poll(seconds * 1000):
            self.silence()

    def silence(self) -> None:
        """Forget that it rang."""
        with suppress(BlockingIOError):
            os.read(self._out, _MUCH)

    def fileno(self) -> int:
        """Can be read from when it has rung."""
        return self._out

    def close(self) -> None:
        """Free this process' ends of it."""
        os.close(self._out)
        os.close(self._into)
