"""Put large values away into the blob store, and get them when they are read (docs/adr/0031).

A transaction that holds locks does not wait for the store: see `unhurried`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from orchestrator.domain.blobs import QUOTED, Blob, about, folder_of, holds, loads, references, replaced, run_of
from orchestrator.errors import BlobGone, BlobsAway, ExpressionError
from orchestrator.store.transition import as_text

_CHUNK = 1 << 20
_KEPT_BYTES = 32 << 20  # of values read last, in this process
_MOST_TRIES = 10
_HEX = 64
_KINDS = {"{": "a map", "[": "a list", '"': "a text"}
Result = TypeVar("Result")


class Store(Protocol):
    """What holds the values; see `orchestrator/blobstore.py`."""

    def open(self) -> object: ...

    def write(self, path: str, chunks: Iterable[bytes]) -> None: ...

    def read(self, path: str) -> Iterator[bytes]: ...

    def copy(self, path: str, to: str) -> None: ...

    def size(self, path: str) -> int | None: ...

    def remove(self, paths: Iterable[str]) -> int: ...

    def find(self) -> Iterator[Any]: ...

    def tidy(self, folder: str) -> None: ...


class _Lacking(Exception):
    """A transaction needs what is to be done without one."""

    def __init__(self, path: str, do: Callable[[], Any]) -> None:
        self.path, self.do = path, do
        super().__init__(path)


@dataclass(slots=True)
class _Hand:
    """What was done for the transaction of this thread, which does no more itself unless it is `free`."""

    done: dict[str, Any] = field(default_factory=dict)
    free: bool = False


_hand: ContextVar[_Hand | None] = ContextVar("_hand", default=None)


def unhurried(act: Callable[[], Result]) -> Result:
    """What `act`, a transaction, gives. What it needs of the store is got after it was rolled back; then it is done
    again. One that needs something else each time goes to the store itself in the end. Raises `BlobsAway` besides."""
    hand = _Hand()
    while True:
        token = _hand.set(hand)
        try:
            return act()
        except _Lacking as lacking:
            missing = lacking
        finally:
            _hand.reset(token)
        try:
            hand.done[missing.path] = missing.do()
        except BlobGone as error:
            hand.done[missing.path] = error
        hand.free = len(hand.done) >= _MOST_TRIES


def _without_locks(path: str, do: Callable[[], Any]) -> Any:
    hand = _hand.get()
    if hand is None or (hand.free and path not in hand.done):
        return do()
    if path not in hand.done:
        raise _Lacking(path, do)
    done = hand.done[path]
    if isinstance(done, BlobGone):
        raise done
    return done


@dataclass(slots=True)
class _Kept:
    """Texts read last, by path: few, as they are large. Not what they say, which whoever gets it may change."""

    texts: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    size: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, path: str) -> bytes | None:
        with self.lock:
            if path in self.texts:
                self.texts.move_to_end(path)
            return self.texts.get(path)

    def put(self, path: str, text: bytes) -> None:
        with self.lock:
            if len(text) <= _KEPT_BYTES and path not in self.texts:
                self.texts[path] = text
                self.size += len(text)
            while self.size > _KEPT_BYTES:
                self.size -= len(self.texts.popitem(last=False)[1])


@dataclass(frozen=True, slots=True)
class Blobs:
    """The blob store of an installation; without a `store` nothing is put away.

    `over`: bytes of JSON over which a value is put away; `most`: a larger one is refused. One with references in it
    stays in its row up to `inline` bytes: what is put away has none, so that a blob is good for itself.
    """

    store: Store | None = None
    over: int = 1 << 62
    most: int = 0
    inline: int = 0
    _kept: _Kept = field(default_factory=_Kept)

    def __bool__(self) -> bool:
        return self.store is not None

    # Putting away.

    def is_large(self, text: str) -> bool:
        if 4 * len(text) <= self.over or len(text.encode()) <= self.over:
            return False
        return QUOTED not in text or len(text) > self.inline

    def put(self, path: str, text: str, told: str | None = None) -> Blob:
        """Put a value's JSON text away; `told` says what it is. Raises `BlobsAway`; `ExpressionError` and `BlobGone`
        for one with references."""
        text = self.flat(text)
        return self.put_chunks(path, lambda: _encoded(text), _KINDS.get(text[:1], "a value") if told is None else told)

    def put_chunks(self, path: str, chunks: Callable[[], Iterable[bytes]], told: str) -> Blob:
        """The same of one that is not in memory as a whole."""
        made: Blob = _without_locks(f"put {path}", lambda: self._write(path, chunks(), told))
        return made

    def _write(self, path: str, chunks: Iterable[bytes], told: str) -> Blob:
        seen = _Seen(chunks)
        self._there().write(path, seen)
        return Blob.of(path, seen.size, seen.sha256, told)

    def flat(self, text: str) -> str:
        """A JSON text without references, with what they stand for."""
        return str(as_text(self.whole(loads(text)))) if QUOTED in text else text

    def copy(self, blob: Blob, run_id: str) -> Blob:
        """The same value as a blob of this run. Raises `BlobGone`, `BlobsAway`."""
        to = f"{folder_of(run_id)}/{_own(blob).split('/', 2)[2]}"
        self._there().copy(_own(blob), to)
        return Blob.of(to, blob.size, blob.sha256, str(blob.get("about", "")))

    def _there(self) -> Store:
        if self.store is None:
            raise BlobsAway("a value lies in a blob store, and none is set here (ORCHESTRATOR_BLOB_URL)")
        return self.store

    # Getting back.

    def value(self, blob: Blob) -> Any:
        """What a reference stands for, made anew each time. Raises `BlobGone`, `BlobsAway`."""
        path = _own(blob)
        text = self._kept.get(path)
        if text is None:
            text = _without_locks(path, lambda: self._fetched(blob))
            self._kept.put(path, text)
        self._check(blob, text)
        return loads(text)

    def whole(self, value: Any) -> Any:
        """A value that `loads` gave with what its references stand for. Raises as `value`; `ExpressionError` when all
        of it is too large."""
        if not holds(value):
            return value
        self._check_size(value)
        return replaced(value, self.value)

    def shown(self, value: Any) -> Any:
        """The same for people: where a value cannot be had its reference stays, which says why as its `problem`."""
        if not holds(value):
            return value
        try:
            self._check_size(value)
        except ExpressionError as error:
            return _with_problem(value, error)
        return replaced(value, self._shown)

    def _shown(self, blob: Blob) -> Any:
        try:
            return self.value(blob)
        except (BlobGone, BlobsAway) as error:
            return _with_problem(blob, error)

    def _check_size(self, value: Any) -> None:
        size = sum(blob.size for blob in references(value))
        if self.most and size > self.most:
            raise ExpressionError(
                f"a value has parts of {size} bytes in the blob store; {self.most} may be read at once"
                " (ORCHESTRATOR_BLOB_MAX)"
            )

    def _fetched(self, blob: Blob) -> bytes:
        found = b"".join(self._there().read(_own(blob)))
        self._check(blob, found)
        return found

    def _check(self, blob: Blob, found: bytes) -> None:
        """It is what was put there, to the byte; also what is kept, which another reference may have fetched."""
        if len(found) != blob.size or hashlib.sha256(found).hexdigest() != blob.sha256:
            raise BlobGone(
                f"blob {blob.path} in the store at {self.store} is damaged: it has {len(found)} bytes,"
                f" {blob.size} were put there, or others"
            )

    def are_there(self, value: Any) -> bool:
        """Whether the files of all references in the value are there."""
        return all(self._there().size(_own(blob)) == blob.size for blob in references(value))


NO_BLOBS = Blobs()


def _with_problem(value: Any, error: Exception) -> Any:
    return replaced(value, lambda blob: Blob(blob | {"problem": str(error)}))


class _Seen:
    """Portions on their way, counted and hashed."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks, self._hash, self.size = chunks, hashlib.sha256(), 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._hash.update(chunk)
            self.size += len(chunk)
            yield chunk

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def _encoded(text: str) -> Iterator[bytes]:
    for start in range(0, len(text), _CHUNK):
        yield text[start : start + _CHUNK].encode()


def _own(blob: Blob) -> str:
    """Its path, which is one of ours: nothing else is ever read."""
    fits = isinstance(blob.get("bytes"), int) and len(str(blob.get("sha256"))) == _HEX
    if not fits or run_of(blob.path) is None:
        raise BlobGone(f"{blob.path!r:.200} is not the path of a blob")
    return blob.path


def put_run_output(blobs: Blobs, run_id: str, output: Any, output_json: str) -> str:
    """The JSON text of a run's output as it is stored: a reference, where it is large."""
    if not blobs or not blobs.is_large(output_json):
        return output_json
    digest = hashlib.sha256(output_json.encode()).hexdigest()
    return json.dumps(blobs.put(f"{folder_of(run_id)}/run/{digest[:32]}.json", output_json, about(output)))
