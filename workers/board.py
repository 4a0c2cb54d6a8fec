"""The board: which attempts the processes of one worker hold right now, for the Keeper to see (lease.py).

A process (or a thread of one) holds a *hand*: a few attempts claimed at once, begun one after the other and settled
together. A prefork pool's board lies in memory that parent and children share (shared_board.py); the other pools
have one process, and `LocalBoard`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

Attempt = tuple[str, str]  # step id and token


@dataclass(frozen=True, slots=True)
class Entry:
    """An attempt some process of this worker holds.

    `since` and `deadline` are seconds of the machine's monotonic clock; `timeout` in seconds. `begun`: its process
    has come to it. `calling`: its function runs; else its input is being made or its outcome stored, which nobody
    may interrupt.
    """

    pid: int
    step_id: str
    token: str
    since: float
    begun: bool = True
    calling: bool = False
    timeout: float | None = None
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """A process that died, with the attempts it held."""

    pid: int
    entries: Sequence[Entry] = ()


class Ending(IntEnum):
    """Whether the worker is to end, and whether what runs may come to its own end first."""

    NO = 0
    WARM = 1
    COLD = 2


class Board(Protocol):
    """What a process tells of its attempts, and what the Keeper tells it."""

    def hold(self, attempts: Sequence[Attempt]) -> None:
        """This process holds these attempts and no others; none of them is begun. The hand before was sealed."""

    def begin(self) -> bool:
        """It comes to the next of them. False: those not begun were taken back, and none of them may begin."""

    def seal(self) -> bool:
        """From now on nothing is taken back of the hand. False: those not begun were taken back before."""

    def call(self, token: str, timeout: float | None) -> None:
        """The function of the attempt begun last is called now, and may take `timeout` seconds."""

    def called(self, token: str) -> None:
        """Its function has ended."""

    def running(self) -> list[Entry]:
        """All attempts held, by any process of the worker."""

    def gone(self) -> Sequence[Gone]:
        """Processes that died."""

    def forget(self, pid: int) -> None:
        """What a dead process held is taken care of."""

    def take_back(self, entry: Entry) -> list[Attempt]:
        """Keep the process that holds `entry` from beginning another of its hand; those that will not begin."""

    def ask(self, entry: Entry) -> None:
        """Ask for the end of an attempt."""

    def asked(self, token: str) -> bool:
        """Whether this process was asked to end this very attempt."""

    def end(self, how: Ending) -> None:
        """The worker is told to end."""

    @property
    def ending(self) -> Ending:
        """Whether it was."""

    def rest(self, busy: float, idle: float) -> None:
        """Sleep for `busy` seconds while attempts are held; else for `idle` seconds, or until one is. One thread's."""

    def rouse(self) -> None:
        """End its sleep."""


@dataclass(slots=True)
class _Hand:
    attempts: Sequence[Attempt]
    since: float
    begun: int = 0
    taken_back: bool = False
    sealed: bool = False
    calling: str | None = None
    called_at: float = 0.0
    timeout: float | None = None
    asked: set[str] = field(default_factory=set)

    def entries(self) -> list[Entry]:
        pid = os.getpid()
        return [self._entry(pid, i, *attempt) for i, attempt in enumerate(self.attempts)]

    def _entry(self, pid: int, place: int, step_id: str, token: str) -> Entry:
        if token != self.calling:
            return Entry(pid, step_id, token, self.since, begun=place < self.begun)
        deadline = None if self.timeout is None else self.called_at + self.timeout
        return Entry(pid, step_id, token, self.called_at, True, True, self.timeout, deadline)


class LocalBoard:
    """The board of a worker that is one process, with any number of threads."""

    def __init__(self) -> None:
        self._hands: dict[int, _Hand] = {}
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._idle = False  # who rests wants to know of the next hand
        self.ending = Ending.NO

    def hold(self, attempts: Sequence[Attempt]) -> None:
        thread = threading.get_ident()
        with self._lock:
            if attempts:
                self._hands[thread] = _Hand(tuple(attempts), time.monotonic())
                if self._idle:
                    self._idle = False
                    self._bell.set()
            else:
                self._hands.pop(thread, None)

    def begin(self) -> bool:
        hand = self._hands[threading.get_ident()]
        with self._lock:
            hand.begun += not hand.taken_back
            return not hand.taken_back

    def seal(self) -> bool:
        hand = self._hands.get(threading.get_ident())
        if hand is None:
            return True
        with self._lock:
            hand.sealed = True
            return not hand.taken_back

    def call(self, token: str, timeout: float | None) -> None:
        hand = self._hands[threading.get_ident()]
        with self._lock:
            hand.calling, hand.called_at, hand.timeout = token, time.monotonic(), timeout

    def called(self, token: str) -> None:
        with self._lock:
            self._hands[threading.get_ident()].calling = None

    def running(self) -> list[Entry]:
        with self._lock:
            return [entry for hand in self._hands.values() for entry in hand.entries()]

    def gone(self) -> Sequence[Gone]:
        return ()

    def forget(self, pid: int) -> None:
        """Nothing: this process is the only one."""

    def take_back(self, entry: Entry) -> list[Attempt]:
        with self._lock:
            hand = self._of(entry.token)
            if hand is None or hand.sealed:
                return []
            hand.taken_back = True
            return list(hand.attempts[hand.begun :])

    def ask(self, entry: Entry) -> None:
        with self._lock:
            hand = self._of(entry.token)
            if hand is not None:
                hand.asked.add(entry.token)

    def asked(self, token: str) -> bool:
        hand = self._hands.get(threading.get_ident())
        return hand is not None and token in hand.asked

    def end(self, how: Ending) -> None:
        self.ending = how

    def rest(self, busy: float, idle: float) -> None:
        with self._lock:
            self._idle = not self._hands
            seconds = idle if self._idle else busy
        self._bell.wait(seconds)
        self._bell.clear()

    def rouse(self) -> None:
        self._bell.set()

    def _of(self, token: str) -> _Hand | None:
        return next((h for h in self._hands.values() if any(token == held for _, held in h.attempts)), None)
