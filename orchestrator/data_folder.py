"""The folder of an `orchestrator up`: where its servers keep their data, its lock, and how others find it."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import platformdirs

from orchestrator.errors import Conflict, OrchestratorError

_RUNNING = "running.json"
_NAME = ".orchestrator"
_CHECKOUT_MARKS = (".git", "pyproject.toml", "Procfile")


class UnusableFolder(OrchestratorError):
    """The data folder cannot be made, read or written."""


@dataclass(frozen=True, slots=True)
class Running:
    """An `orchestrator up` that is alive, and where its parts are."""

    pid: int
    database_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    web_url: str


def default_folder(here: Path) -> Path:
    """The nearest `.orchestrator` here or above; one to be made here in a checkout, else the user's own data folder."""
    for folder in (here, *here.parents):
        if (folder / _NAME).is_dir():
            return folder / _NAME
    if any((here / mark).exists() for mark in _CHECKOUT_MARKS):
        return here / _NAME
    return platformdirs.user_data_path("orchestrator")


class DataFolder:
    """One folder, used by one `up` at a time: a kernel lock that no crash can leave behind says by which."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def valkey(self) -> Path:
        return self.path / "valkey"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def create(self) -> None:
        """Make the folder (with a .gitignore of its own) where it is missing; raises `UnusableFolder`."""
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            ignore = self.path / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
        except OSError as error:
            raise self._unusable(error) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder; raises `Conflict` naming the process that holds it, or `UnusableFolder`."""
        self.create()
        with self._open_lock() as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict(self._in_use()) from None
            try:
                yield
            finally:
                (self.path / _RUNNING).unlink(missing_ok=True)

    def publish(self, running: Running) -> None:
        """Tell other processes of this machine's user where the servers are; forgotten as the lock ends."""
        self.write_private(_RUNNING, json.dumps(asdict(running)))

    def running(self) -> Running | None:
        """The `up` that holds this folder now and has said where its parts are."""
        if not self._is_locked():
            return None
        described = self.read(_RUNNING)
        return None if described is None else _as_running(described)

    def read(self, name: str) -> str | None:
        """A small text file of the folder; None when it is not there or not readable."""
        try:
            return (self.path / name).read_text()
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None

    def write_private(self, name: str, text: str) -> None:
        """Replace a small text file in one move, readable by this user only."""
        descriptor, made = tempfile.mkstemp(dir=self.path, prefix=f".{name}.")
        with os.fdopen(descriptor, "w") as handle:
            handle.write(text)
        os.replace(made, self.path / name)

    def _open_lock(self) -> IO[Any]:
        try:
            return (self.path / "lock").open("a")
        except OSError as error:
            raise self._unusable(error) from error

    def _is_locked(self) -> bool:
        try:
            with (self.path / "lock").open() as handle:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _in_use(self) -> str:
        described = self.read(_RUNNING)
        running = None if described is None else _as_running(described)
        if running is None:
            return f"another `orchestrator up` is starting or stopping in {self.path}"
        return (
            f"`orchestrator up` is already running in {self.path} (process {running.pid}, {running.web_url}):"
            " stop it there with Ctrl-C, or choose another folder with --data-dir"
        )

    def _unusable(self, error: OSError) -> UnusableFolder:
        return UnusableFolder(
            f"cannot use the data folder {self.path}: {error.strerror or error}"
            " (choose another with --data-dir or ORCHESTRATOR_DATA_DIR)"
        )


def _as_running(described: str) -> Running | None:
    try:
        return Running(**json.loads(described))
    except (ValueError, TypeError):
        return None
