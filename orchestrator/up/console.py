"""What `up` says: its own lines, and its children's, each with its name in front."""

from __future__ import annotations

import threading
from contextlib import suppress

import click

from orchestrator.jsonline import json_line

_COLOURS = {"worker": "cyan", "beat": "magenta", "web": "blue", "postgres": "green", "valkey": "yellow"}
_OWN = "orchestrator.up"
_WIDTH = max(map(len, _COLOURS))


class Console:
    """Lines from several threads, whole. Colours only on a terminal.

    `as_json`: every line is one JSON object, those that the children print as they are.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self._lock = threading.Lock()
        self._as_json = as_json

    def say(self, line: str = "") -> None:
        """A line of up's own."""
        self._print(json_line("INFO", _OWN, line) if self._as_json else line)

    def warn(self, line: str) -> None:
        """A line of up's own that should not be missed."""
        self._print(json_line("WARNING", _OWN, line) if self._as_json else click.style(line, fg="yellow"), err=True)

    def child(self, name: str, line: str) -> None:
        """A line that a child printed."""
        if self._as_json:
            self._print(line if line.startswith('{"time": ') else json_line("INFO", f"orchestrator.{name}", line))
        else:
            self._print(click.style(f"{name:{_WIDTH}} | ", fg=_COLOURS.get(name)) + line)

    def _print(self, line: str, *, err: bool = False) -> None:
        # A terminal that was closed, or a `| head` that has enough, is no reason to stop: the logs go on.
        with self._lock, suppress(OSError):
            click.echo(line, err=err)
