"""The board: which attempts the processes of one worker hold right now, for the Keeper to see (lease.py).

A prefork pool's board lies in memory that parent and children share (shared_board.py); the other pools have one
process, and `LocalBoard`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """An attempt some process of this worker holds.

    `since` and `deadline` are seconds of the machine's monotonic clock; `timeout` in seconds. `calling`: its
    function runs; else its input is being made or its outcome stored, which nobody may interrupt.
    """

    pid: int
    step_id: str
    token: str
    since: float
    calling: bool = False
    timeout: float | None = None
    deadline: float | None = None


class Board(Protocol):
    """What a process tells of its attempts, and what the Keeper tells it."""

    def enter(self, step_id: str, token: str) -> None:
        """This process holds the attempt."""

    def call(self, token: str, timeout: float | None) -> None:
        """Its function is called now, and may take `timeout` seconds."""

    def called(self, token: str) -> None:
        """Its function has ended."""

    def leave(self, token: str) -> None:
        """Its outcome is stored, or was given up."""

    def running(self) -> list[Entry]:
        """All attempts held, by any process of the worker."""

    def gone(self) -> Sequence[Gone]:
        """Processes that died."""

    def forget(self, pid: int) -> None:
        """What a dead process held is taken care of."""

    def ask(self, entry: Entry) -> None:
        """Ask for the end of an attempt."""

    def asked(self, token: str) -> bool:
        """Whether this process was asked to end this very attempt."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A process that died, with the attempt it held."""

    pid: int
    entry: Entry | None


class LocalBoard:
    """The board of a worker that is one process, with any number of threads."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._asked: set[str] = set()

    def enter(self, step_id: str, token: str) -> None:
        self._entries[token] = Entry(os.getpid(), step_id, token, time.monotonic())

    def call(self, token: str, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        self._entries[token] = replace(self._entries[token], calling=True, timeout=timeout, deadline=deadline)

    def called(self, token: str) -> None:
        self._entries[token] = replace(self._entries[token], calling=False)

    def leave(self, token: str) -> None:
        self._entries.pop(token, None)
        self._asked.discard(token)

    def running(self) -> list[Entry]:
        return list(self._entries.values())

    def gone(self) -> Sequence[Gone]:
        return ()

    def forget(self, pid: int) -> None:
        """Nothing: this process is the only one."""

    def ask(self, entry: Entry) -> None:
        self._asked.add(entry.token)
        if entry.token not in self._entries:  # it has left meanwhile
            self._asked.discard(entry.token)

    def asked(self, token: str) -> bool:
        return token in self._asked
