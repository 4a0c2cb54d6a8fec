"""The blob store: files under a URL of fsspec's. The only file that knows fsspec, which is loaded at the first use."""

from __future__ import annotations

import importlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from orchestrator.config import BLOB_URL, Config
from orchestrator.errors import BlobGone, BlobsAway, InvalidConfig, OrchestratorError, Problem
from orchestrator.services.blobs import NO_BLOBS, Blobs

_CHUNK = 1 << 20
_FLAT = ("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci")  # stores without folders
_HERE = ("file", "local")  # where a file appears before it is written, and one that was not written to disk may vanish
_SIGN = "orchestrator-blobs"  # a file that is in every store: one without it is another one, or not mounted


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of the store; `size` in bytes, `at` when it was written (None where the store cannot tell)."""

    path: str
    size: int
    at: datetime | None


class FileStore:
    """Files by paths of ours below `url`. `options` go to fsspec's file system. Connects at the first use.

    What goes wrong raises `BlobsAway`; a file that is not there `BlobGone`; `InvalidConfig` when the URL's kind cannot
    be had.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._url, self._options = url, dict(options or {})
        self._opened: tuple[Any, str] | None = None
        self._process = 0  # a child process that was forked opens its own: connections and threads are not inherited
        self._signed = False

    def __str__(self) -> str:
        """Its URL without a password."""
        parts = urlsplit(self._url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def open(self) -> tuple[Any, str]:
        """fsspec's file system, and the path of the URL in it."""
        if self._opened is None or self._process != os.getpid():
            self._opened, self._process = self._open(), os.getpid()
        return self._opened

    def _open(self) -> tuple[Any, str]:
        try:
            files, root = importlib.import_module("fsspec.core").url_to_fs(self._url, **self._options)
        except ImportError as error:
            hint = "pip install 'orchestrator[blob]'" if error.name == "fsspec" else None
            raise InvalidConfig([Problem(BLOB_URL, f"cannot be used: {error}", hint)]) from error
        except (ValueError, TypeError) as error:
            raise InvalidConfig([Problem(BLOB_URL, f"cannot be used: {error}")]) from error
        return files, str(root).rstrip("/")

    def write(self, path: str, chunks: Iterable[bytes]) -> None:
        """Write a file: it is there as a whole or, after an error, not at all."""
        with self._told(path, "written"):
            files, root = self.open()
            self._sign(files, root)
            self._write(files, f"{root}/{path}", chunks)

    def _write(self, files: Any, full: str, chunks: Iterable[bytes]) -> None:
        here = _is(files, _HERE)
        part = f"{full}.{os.getpid()}-part" if here else full
        _make_folder(files, full)
        try:
            with files.open(part, "wb") as file:
                for chunk in chunks:
                    file.write(chunk)
                _to_disk(file)
            if here:
                files.mv(part, full)
                _folder_to_disk(full.rpartition("/")[0])
        except BaseException:
            with suppress(Exception):  # a clean-up finds what is left
                files.rm_file(part)
            raise

    def _sign(self, files: Any, root: str) -> None:
        """A folder may be unmounted while this process goes on: what is written then would lie hidden under it."""
        if self._signed and not _is(files, _HERE):
            return
        if not files.exists(f"{root}/{_SIGN}"):
            if self._signed:
                raise FileNotFoundError(_SIGN)
            self._write(files, f"{root}/{_SIGN}", [b"Outputs of an orchestrator's runs.\n"])
        self._signed = True

    def read(self, path: str) -> Iterator[bytes]:
        """What a file holds, in portions."""
        with self._told(path, "read"):
            files, root = self.open()
            with files.open(f"{root}/{path}", "rb") as file:
                while chunk := file.read(_CHUNK):
                    yield chunk

    def copy(self, path: str, to: str) -> None:
        """Copy a file, within the store where it can do that."""
        with self._told(path, "copied"):
            files, root = self.open()
            if not _is(files, _HERE):
                _make_folder(files, f"{root}/{to}")
                files.cp_file(f"{root}/{path}", f"{root}/{to}")
                return
        self.write(to, self.read(path))

    def size(self, path: str) -> int | None:
        """A file's size; None when it is not there."""
        try:
            with self._told(path, "found"):
                files, root = self.open()
                files.invalidate_cache()
                return int(files.info(f"{root}/{path}")["size"])
        except BlobGone:
            return None

    def remove(self, paths: Iterable[str]) -> int:
        """Remove files; how many were there."""
        removed = 0
        for path in paths:
            with suppress(BlobGone), self._told(path, "removed"):
                files, root = self.open()
                files.rm_file(f"{root}/{path}")
                removed += 1
        return removed

    def find(self) -> Iterator[Stored]:
        """All files."""
        found: Mapping[str, Mapping[str, Any]] = {}
        with suppress(BlobGone), self._told("", "listed"):
            files, root = self.open()
            files.invalidate_cache()
            found = files.find(root, detail=True)
        for full, info in found.items():
            path = full.removeprefix(root).lstrip("/")
            if path != _SIGN:
                yield Stored(path, int(info.get("size") or 0), _moment(info, partial(files.modified, full)))

    def tidy(self, folder: str) -> None:
        """Remove a folder that is empty, where there are folders."""
        with suppress(Exception):  # it is not empty, or not there, or no folder
            files, root = self.open()
            files.rmdir(f"{root}/{folder}")

    @contextmanager
    def _told(self, path: str, how: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            if how != "written" and self._is_ours():
                raise BlobGone(f"blob {path} is not in the store at {self} any more") from error
            raise BlobsAway(f"the blob store at {self} does not hold what was put there: is it mounted?") from error
        except (
            OrchestratorError,
            GeneratorExit,
        ):  # of the chunks too: a value that is too large is no trouble of the store
            raise
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise BlobsAway(f"blob {path} could not be {how} in the store at {self}: {told}") from error

    def _is_ours(self) -> bool:
        try:
            files, root = self.open()
            return bool(files.exists(f"{root}/{_SIGN}"))
        except Exception:  # noqa: BLE001 - then nobody can tell
            return False


def blobs_of(config: Config) -> Blobs:
    """The blob store of the configuration, which is connected to at its first use."""
    if not config.blob_url:
        return NO_BLOBS
    return Blobs(
        FileStore(config.blob_url, config.blob_options), config.blob_over, config.blob_max, config.max_output_bytes
    )


def configured_blobs() -> Blobs:
    """That of this process's environment."""
    return blobs_of(Config.from_env(need=()))


def check_blobs(config: Config) -> None:
    """Raises `InvalidConfig` when the kind of blob store that is set cannot be had here; connects to nothing."""
    blobs = blobs_of(config)
    if blobs.store is not None:
        blobs.store.open()


def _is(files: Any, kinds: Sequence[str]) -> bool:
    protocol = files.protocol
    return not {protocol, *(() if isinstance(protocol, str) else protocol)}.isdisjoint(kinds)


def _make_folder(files: Any, path: str) -> None:
    if not _is(files, _FLAT):
        files.makedirs(path.rpartition("/")[0], exist_ok=True)


def _to_disk(file: Any) -> None:
    file.flush()
    with suppress(io.UnsupportedOperation, AttributeError):
        os.fsync(file.fileno())


def _folder_to_disk(folder: str) -> None:
    """So that the name outlives a power cut too, as the row that refers to it does."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _moment(info: Mapping[str, Any], ask: Callable[[], Any]) -> datetime | None:
    for name in ("mtime", "LastModified", "last_modified", "updated", "created"):
        if name in info:
            return _read_moment(info[name])
    with suppress(Exception):  # not every store tells
        return _read_moment(ask())
    return None


def _read_moment(value: Any) -> datetime | None:
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return (value if value.tzinfo else value.replace(tzinfo=UTC)) if isinstance(value, datetime) else None
