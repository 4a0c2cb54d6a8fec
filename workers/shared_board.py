"""The board of a prefork pool: memory shared by the pool's parent and its children, one slot a child.

A child writes only its own slot; the parent reads all, and clears those of dead children. Nothing here can be
left locked by a process that is killed: a record has a checksum, and the one lock (for taking a slot) is the
kernel's, which frees it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import tempfile
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence

import psutil

from orchestrator.errors import OrchestratorError
from workers.board import Entry, Gone

_PID = struct.Struct("<q")
# step id, token, since, timeout, deadline (0: none), whether an attempt is held, whether its function runs
_RECORD = struct.Struct("<16s16sddd??")
_REQUEST = struct.Struct("<16s")
_SUM = struct.Struct("<I")
_RECORD_AT, _REQUEST_AT, _SLOT_BYTES = 8, 88, 128
_EMPTY = _RECORD.pack(b"", b"", 0.0, 0.0, 0.0, False, False)
_READS = 100


class SharedBoard:
    """Made in the parent before it forks; the children inherit it."""

    def __init__(self, slots: int = 1024) -> None:
        self._memory = mmap.mmap(-1, slots * _SLOT_BYTES)
        self._slots = slots
        self._taking = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the worker lives
        self._mine: tuple[int, int] | None = None
        self._held: tuple[str, str, float] = ("", "", 0.0)

    def close(self) -> None:
        """Free this process' part of it."""
        self._memory.close()
        self._taking.close()

    # In a child.

    def enter(self, step_id: str, token: str) -> None:
        self._held = (step_id, token, time.monotonic())
        self._write(calling=False)

    def call(self, token: str, timeout: float | None) -> None:
        self._write(calling=True, timeout=timeout or 0.0)

    def called(self, token: str) -> None:
        self._write(calling=False)

    def leave(self, token: str) -> None:
        self._put(self._slot(), _RECORD_AT, _EMPTY)

    def asked(self, token: str) -> bool:
        return self._get(self._slot(), _REQUEST_AT, _REQUEST) == _bytes(token)

    def _write(self, *, calling: bool, timeout: float = 0.0) -> None:
        step_id, token, since = self._held
        deadline = time.monotonic() + timeout if timeout else 0.0
        record = _RECORD.pack(_bytes(step_id), _bytes(token), since, timeout, deadline, True, calling)
        self._put(self._slot(), _RECORD_AT, record)

    def _slot(self) -> int:
        pid = os.getpid()
        if self._mine is None or self._mine[0] != pid:
            self._mine = (pid, self._take(pid))
        return self._mine[1]

    def _take(self, pid: int) -> int:
        fcntl.lockf(self._taking, fcntl.LOCK_EX)
        try:
            for slot in range(self._slots):
                if not self._pid(slot):
                    self._put(slot, _RECORD_AT, _EMPTY)
                    _PID.pack_into(self._memory, slot * _SLOT_BYTES, pid)
                    return slot
        finally:
            fcntl.lockf(self._taking, fcntl.LOCK_UN)
        raise OrchestratorError(f"a worker can have at most {self._slots} pool processes")

    # In the parent.

    def running(self) -> list[Entry]:
        return [entry for slot in self._taken() if (entry := self._entry(slot)) is not None]

    def gone(self) -> Sequence[Gone]:
        return [Gone(pid, self._entry(slot)) for slot in self._taken() if not _lives(pid := self._pid(slot))]

    def forget(self, pid: int) -> None:
        for slot in self._taken():
            if self._pid(slot) == pid:
                self._put(slot, _RECORD_AT, _EMPTY)
                _PID.pack_into(self._memory, slot * _SLOT_BYTES, 0)

    def ask(self, entry: Entry) -> None:
        for slot in self._taken():
            if self._pid(slot) == entry.pid:
                self._put(slot, _REQUEST_AT, _bytes(entry.token))

    def _taken(self) -> Iterator[int]:
        return (slot for slot in range(self._slots) if self._pid(slot))

    def _entry(self, slot: int) -> Entry | None:
        packed = self._get(slot, _RECORD_AT, _RECORD)
        if packed is None:
            return None
        step_id, token, since, timeout, deadline, held, calling = _RECORD.unpack(packed)
        if not held:
            return None
        return Entry(self._pid(slot), _text(step_id), _text(token), since, calling, timeout or None, deadline or None)

    # Memory.

    def _pid(self, slot: int) -> int:
        pid: int = _PID.unpack_from(self._memory, slot * _SLOT_BYTES)[0]
        return pid

    def _put(self, slot: int, at: int, packed: bytes) -> None:
        start = slot * _SLOT_BYTES + at
        self._memory[start : start + len(packed) + _SUM.size] = packed + _SUM.pack(zlib.crc32(packed))

    def _get(self, slot: int, at: int, layout: struct.Struct) -> bytes | None:
        """A record as its writer left it; None when there is none, or its writer died while writing it."""
        start = slot * _SLOT_BYTES + at
        for _ in range(_READS):
            raw = self._memory[start : start + layout.size + _SUM.size]
            packed, told = raw[: layout.size], raw[layout.size :]
            if _SUM.pack(zlib.crc32(packed)) == told:
                return packed
        return None


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
