"""The board of a prefork pool: memory shared by the pool's parent and its children, one slot a child.

A child writes only its own slot; the parent reads all, and clears those of dead children. Nothing here can be
left locked by a process that is killed: a record has a checksum, and the one lock (for taking a slot) is the
kernel's, which frees it.

Taking back what a child has not begun needs no lock either. The child writes that it begins an attempt (or seals the
hand), then looks whether its hand was taken back; the parent writes that it takes the hand back, then looks how many
were begun. So at least one of them sees the other (Dekker's way). If both do, the attempt in question is begun by
nobody, and the child gives it back itself. This needs words that are written and read whole, which a memoryview of
native words does and `struct.pack_into` does not: it writes zeros first. And it needs what is written to be seen before
what is read behind it, which processors do not do by themselves.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import tempfile
import threading
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import psutil

from orchestrator.errors import OrchestratorError
from workers.bell import Bell
from workers.board import Attempt, Ending, Entry, Gone

HAND = 64  # attempts a child can hold at most

_WORD = 8  # bytes
# token of the attempt whose function runs, since, timeout, deadline (0: none), whether it runs
_CALL = struct.Struct("<16sddd?")
_REQUEST = struct.Struct("<16s")
_HAND = struct.Struct(f"<qHd{HAND * 32}s")  # its number, how many attempts, since, their ids and tokens
_SUM = struct.Struct("<I")
_PID_AT, _BEGUN_AT, _BACK_AT, _CALL_AT, _REQUEST_AT, _HAND_AT = 0, 8, 16, 24, 80, 104
_SLOT_BYTES = -(-(_HAND_AT + _HAND.size + _SUM.size) // 64) * 64
# A word holds the hand's number, whether it is sealed, and how many of it were begun.
_NUMBER, _SEALED = 1 << 16, 1 << 15
_NO_CALL = _CALL.pack(b"", 0.0, 0.0, 0.0, False)
_NO_HAND = _HAND.pack(0, 0, 0.0, b"")
_READS = 100
# The slot behind the last: how many slots were ever in use, whether the parent wants to know of the next hand, and
# whether the worker is to end.
_USED_AT, _IDLE_AT, _ENDING_AT = 0, 8, 16


class SharedBoard:
    """Made in the parent before it forks; the children inherit it."""

    def __init__(self, slots: int = 1024) -> None:
        self._memory = mmap.mmap(-1, (slots + 1) * _SLOT_BYTES)
        self._words = memoryview(self._memory).cast("q")
        self._slots = slots
        self._bell = Bell()
        self._taking = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the worker lives
        self._mine: tuple[int, int] | None = None
        self._number = self._begun = 0

    def close(self) -> None:
        """Free this process' part of it."""
        self._words.release()
        self._memory.close()
        self._taking.close()
        self._bell.close()

    # In a child.

    def hold(self, attempts: Sequence[Attempt]) -> None:
        slot = self._slot()
        self._number, self._begun = self._number + 1, 0
        packed = b"".join(_bytes(part) for attempt in attempts for part in attempt)
        self._put(slot, _HAND_AT, _HAND.pack(self._number, len(attempts), time.monotonic(), packed))
        self._put_word(slot, _BEGUN_AT, self._number * _NUMBER)
        if attempts and self._word(self._slots, _IDLE_AT):
            self._put_word(self._slots, _IDLE_AT, 0)
            self._bell.ring()

    def begin(self) -> bool:
        slot = self._slot()
        self._begun += 1
        self._put_word(slot, _BEGUN_AT, self._number * _NUMBER + self._begun)
        return self._word(slot, _BACK_AT) != self._number

    def seal(self) -> bool:
        slot = self._slot()
        self._put_word(slot, _BEGUN_AT, self._number * _NUMBER + _SEALED + self._begun)
        return self._word(slot, _BACK_AT) != self._number

    def call(self, token: str, timeout: float | None) -> None:
        now = time.monotonic()
        deadline = now + timeout if timeout else 0.0
        self._put(self._slot(), _CALL_AT, _CALL.pack(_bytes(token), now, timeout or 0.0, deadline, True))

    def called(self, token: str) -> None:
        self._put(self._slot(), _CALL_AT, _NO_CALL)

    def asked(self, token: str) -> bool:
        request = self._get(self._slot(), _REQUEST_AT, _REQUEST)
        return request is not None and request[0] == _bytes(token)

    @property
    def ending(self) -> Ending:
        return Ending(self._word(self._slots, _ENDING_AT))

    def _slot(self) -> int:
        pid = os.getpid()
        if self._mine is None or self._mine[0] != pid:
            self._mine = (pid, self._take(pid))
        return self._mine[1]

    def _take(self, pid: int) -> int:
        fcntl.lockf(self._taking, fcntl.LOCK_EX)
        try:
            for slot in range(self._slots):
                if not self._word(slot, _PID_AT):
                    self._clear(slot)
                    self._put_word(slot, _PID_AT, pid)
                    self._put_word(self._slots, _USED_AT, max(slot + 1, self._word(self._slots, _USED_AT)))
                    return slot
        finally:
            fcntl.lockf(self._taking, fcntl.LOCK_UN)
        raise OrchestratorError(f"a worker can have at most {self._slots} pool processes")

    # In the parent.

    def end(self, how: Ending) -> None:
        self._put_word(self._slots, _ENDING_AT, how)

    def running(self) -> list[Entry]:
        return [entry for slot in self._taken() for entry in self._entries(slot)]

    def gone(self) -> Sequence[Gone]:
        dead = [slot for slot in self._taken() if not _lives(self._word(slot, _PID_AT))]
        return [Gone(self._word(slot, _PID_AT), self._entries(slot)) for slot in dead]

    def forget(self, pid: int) -> None:
        for slot in self._taken():
            if self._word(slot, _PID_AT) == pid:
                self._clear(slot)
                self._put_word(slot, _PID_AT, 0)

    def take_back(self, entry: Entry) -> list[Attempt]:
        for slot in self._taken():
            number, attempts = self._hand(slot)[:2]
            if any(entry.token == token for _, token in attempts):
                self._put_word(slot, _BACK_AT, number)
                begun_of, begun = divmod(self._word(slot, _BEGUN_AT), _NUMBER)
                return attempts[begun:] if begun_of == number and begun < _SEALED else []
        return []

    def ask(self, entry: Entry) -> None:
        for slot in self._taken():
            if self._word(slot, _PID_AT) == entry.pid:
                self._put(slot, _REQUEST_AT, _REQUEST.pack(_bytes(entry.token)))

    def rest(self, busy: float, idle: float) -> None:
        # Said before it looks: a child that takes a hand meanwhile is seen, or sees that it is to ring.
        self._put_word(self._slots, _IDLE_AT, 1)
        held = any(self._hand(slot)[1] for slot in self._taken())
        if held:
            self._put_word(self._slots, _IDLE_AT, 0)
        self._bell.wait(busy if held else idle)

    def rouse(self) -> None:
        self._bell.ring()

    def _taken(self) -> Iterator[int]:
        return (slot for slot in range(self._word(self._slots, _USED_AT)) if self._word(slot, _PID_AT))

    def _hand(self, slot: int) -> tuple[int, list[Attempt], float]:
        """A child's hand: its number, its attempts, and since when it is held."""
        number, count, since, packed = self._get(slot, _HAND_AT, _HAND) or (0, 0, 0.0, b"")
        ids = [_text(packed[at : at + 16]) for at in range(0, count * 32, 16)]
        return number, list(zip(ids[::2], ids[1::2], strict=True)), since

    def _entries(self, slot: int) -> list[Entry]:
        number, attempts, since = self._hand(slot)
        if not attempts:
            return []
        begun_of, begun = divmod(self._word(slot, _BEGUN_AT), _NUMBER)
        begun %= _SEALED
        pid, call = self._word(slot, _PID_AT), self._get(slot, _CALL_AT, _CALL)
        return [
            _entry(pid, attempt, since, begun_of == number and place < begun, call)
            for place, attempt in enumerate(attempts)
        ]

    # Memory.

    def _clear(self, slot: int) -> None:
        self._put(slot, _CALL_AT, _NO_CALL)
        self._put(slot, _HAND_AT, _NO_HAND)
        for at in (_BEGUN_AT, _BACK_AT):
            self._put_word(slot, at, 0)

    def _word(self, slot: int, at: int) -> int:
        return self._words[(slot * _SLOT_BYTES + at) // _WORD]

    def _put_word(self, slot: int, at: int, word: int) -> None:
        """Write it, and let all see it before anything is read behind it."""
        self._words[(slot * _SLOT_BYTES + at) // _WORD] = word
        _fence()

    def _put(self, slot: int, at: int, packed: bytes) -> None:
        start = slot * _SLOT_BYTES + at
        self._memory[start : start + len(packed) + _SUM.size] = packed + _SUM.pack(zlib.crc32(packed))

    def _get(self, slot: int, at: int, layout: struct.Struct) -> tuple[Any, ...] | None:
        """A record as its writer left it; None when there is none, or its writer died while writing it."""
        start = slot * _SLOT_BYTES + at
        for _ in range(_READS):
            raw = self._memory[start : start + layout.size + _SUM.size]
            packed, told = raw[: layout.size], raw[layout.size :]
            if _SUM.pack(zlib.crc32(packed)) == told:
                return layout.unpack(packed)
        return None


def _fence() -> None:
    """A full barrier of memory: an atomic write that releases, then one of the same word that acquires.

    The lock is made here, as one of the process could be held by another thread when this process is forked.
    """
    lock = threading.Lock()
    for _ in range(2):
        with lock:
            pass


def _entry(pid: int, attempt: Attempt, since: float, begun: bool, call: tuple[Any, ...] | None) -> Entry:
    step_id, token = attempt
    if call is None or not call[-1] or call[0] != _bytes(token):
        return Entry(pid, step_id, token, since, begun)
    _, called_at, timeout, deadline, _ = call
    return Entry(pid, step_id, token, called_at, True, True, timeout or None, deadline or None)


def _lives(pid: int) -> bool:
    """Whether the child can still run; one that is dead but not yet fetched by its parent cannot."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _bytes(id: str) -> bytes:
    return bytes.fromhex(id.replace("-", ""))


def _text(packed: bytes) -> str:
    return str(uuid.UUID(bytes=packed))
