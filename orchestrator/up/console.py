"""What `up` says: its own lines, and its children's, each with its name in front."""

from __future__ import annotations

import threading
from contextlib import suppress

import click

_COLOURS = {"worker": "cyan", "beat": "magenta", "web": "blue", "postgres": "green", "valkey": "yellow"}
_WIDTH = max(map(len, _COLOURS))


class Console:
    """Lines from several threads, whole. Colours only on a terminal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def say(self, line: str = "") -> None:
        """A line of up's own."""
        self._print(line)

    def warn(self, line: str) -> None:
        """A line of up's own that should not be missed."""
        self._print(click.style(line, fg="yellow"), err=True)

    def child(self, name: str, line: str) -> None:
        """A line that a child printed."""
        self._print(click.style(f"{name:{_WIDTH}} | ", fg=_COLOURS.get(name)) + line)

    def _print(self, line: str, *, err: bool = False) -> None:
        # A terminal that was closed, or a `| head` that has enough, is no reason to stop: the logs go on.
        with self._lock, suppress(OSError):
            click.echo(line, err=err)
