"""Servers for tests: in a temporary folder, shared by all processes of a test run, gone with the last of them."""

from __future__ import annotations

import fcntl
import json
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from orchestrator.embedded.guardian import Guardian
from orchestrator.embedded.place import folder_for_tests
from orchestrator.embedded.servers import Servers, ServerUrls

_SHARED = "shared.json"


@contextmanager
def servers_for_tests(meeting: Path) -> Iterator[ServerUrls]:
    """PostgreSQL and Valkey for tests; nothing in them survives.

    Processes that name the same `meeting` folder share them: the first starts them, and they end when the last
    has left or died. Raises `ServerFailed`.
    """
    with locked(meeting / "join"):
        users, urls = _join(meeting) or _start(meeting)
    try:
        yield urls
    finally:
        users.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on the file against other processes, waiting for it."""
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _join(meeting: Path) -> tuple[IO[Any], ServerUrls] | None:
    """The running servers; None when there are none, or the last user has just left them."""
    try:
        found = json.loads((meeting / _SHARED).read_text())
        users = Path(found.pop("users")).open()  # noqa: SIM115 - open for as long as the servers are used
    except FileNotFoundError:
        return None
    urls = ServerUrls(**found)
    if _take_part(users) and all(_listens(url) for url in (urls.database_url, urls.broker_url)):
        return users, urls
    users.close()
    return None


def _take_part(users: IO[Any]) -> bool:
    """Keep the guardian waiting; False when it is already at work."""
    try:
        fcntl.flock(users, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _listens(url: str) -> bool:
    """Whether the server is there; after a crash of the machine only the files are."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port or 0), 5):
            return True
    except OSError:
        return False


def _start(meeting: Path) -> tuple[IO[Any], ServerUrls]:
    folder = Path(tempfile.mkdtemp(prefix="orchestrator-test-", dir=folder_for_tests()))
    users = (folder / "users").open("w")  # noqa: SIM115 - as above
    fcntl.flock(users, fcntl.LOCK_SH)
    guardian = Guardian.start(until_unlocked=folder / "users", remove=folder)
    servers = Servers(folder, durable=False, guardian=guardian)
    try:
        urls = servers.start()
    except BaseException:
        users.close()
        raise
    finally:
        guardian.close()  # from here on it only waits for the last user to leave
        guardian.disown()
        servers.disown()
    described = {**asdict(urls), "users": str(folder / "users")}
    (meeting / _SHARED).write_text(json.dumps(described))
    return users, urls
