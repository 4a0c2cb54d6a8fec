"""What functions print, as lines of the worker's log where that is JSON: whoever reads that takes no other line.

What does not go through `sys.stdout` and `sys.stderr` - of child processes, of C - stays as it is.
"""

from __future__ import annotations

import logging
import threading

_MOST = 16_384  # characters of a line that does not end
_LEVELS = {"stdout": logging.INFO, "stderr": logging.WARNING}


class Printed:
    """The lines that somebody prints: whole ones go to the handler, a begun one waits for its end. Thread-safe."""

    handler: logging.Handler | None = None  # None: what is printed stays as it is

    def __init__(self) -> None:
        self._begun = dict.fromkeys(_LEVELS, "")
        self._lock = threading.RLock()

    def write(self, stream: str, text: str) -> None:
        """More of what is printed to "stdout" or "stderr"."""
        with self._lock:
            *lines, rest = (self._begun[stream] + text).split("\n")
            if len(rest) > _MOST:
                lines, rest = [*lines, rest], ""
            self._begun[stream] = rest
            for line in filter(None, lines):
                _tell(stream, line)

    def finish(self) -> None:
        """What has not ended ends here."""
        for stream, begun in self._begun.items():
            if begun:
                self.write(stream, "\n")


def _tell(stream: str, line: str) -> None:
    if Printed.handler is not None:
        Printed.handler.handle(logging.LogRecord(stream, _LEVELS[stream], "", 0, line.rstrip("\r"), None, None))


def print_by(handler: logging.Handler) -> None:
    """From here on what this process prints goes to the handler, line by line."""
    Printed.handler = handler
