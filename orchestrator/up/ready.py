"""Waits for the processes that `up` has started."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from orchestrator.errors import Unreachable
from orchestrator.store.db import Database
from orchestrator.store.overview import overview
from orchestrator.up.console import Console

_DEADLINE_SECONDS = 30.0
_POLL_SECONDS = 0.05


def wait_web(url: str, meanwhile: Callable[[], None], console: Console) -> None:
    """Wait until the web process serves; say so when it does not, and go on."""
    if not _wait(lambda: _serves(url), meanwhile):
        console.warn(f"the web process does not answer at {url} yet; its log says why")


def wait_worker(database_url: str, since: float, meanwhile: Callable[[], None], console: Console) -> None:
    """Wait until a worker has announced itself in the last `since` seconds or later; say so when none does."""
    began = time.monotonic()
    database = Database.connect(database_url, pool_size=1, application_name="orchestrator-up")

    def announced() -> bool:
        seconds = since + time.monotonic() - began
        return overview(database, alive_seconds=seconds).alive.get("worker", 0) > 0

    try:
        if not _wait(announced, meanwhile):
            console.warn("no worker is ready yet; its log says why")
    finally:
        database.close()


def _wait(ready: Callable[[], bool], meanwhile: Callable[[], None]) -> bool:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not _now(ready):
        if time.monotonic() > deadline:
            return False
        meanwhile()
        time.sleep(_POLL_SECONDS)
    return True


def _now(ready: Callable[[], bool]) -> bool:
    try:
        return ready()
    except (Unreachable, OSError, http.client.HTTPException):
        return False


def _serves(url: str) -> bool:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    finally:
        connection.close()
