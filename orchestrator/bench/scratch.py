"""Servers and a folder for one session of measuring, of which nothing is left."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.embedded import Guardian, Servers, ServerUrls
from orchestrator.store.counters import count_statements, load_statement_counter
from orchestrator.store.databases import ensure_database
from orchestrator.store.migrate import upgrade

_GUARDIAN_SECONDS = 15.0
_FILLED = "filled"


@dataclass(frozen=True, slots=True)
class Scratch:
    """Running servers. `filled_url` is a second database, for workloads beside many other rows."""

    folder: Path
    guardian: Guardian
    servers: Servers
    urls: ServerUrls
    filled_url: str


@contextmanager
def scratch_folder() -> Iterator[tuple[Path, Guardian]]:
    """A temporary folder, and a guardian: as this process ends, it ends what it was told of and removes the folder."""
    folder = Path(tempfile.mkdtemp(prefix="orchestrator-bench-"))
    guardian = Guardian.start(remove=folder)
    try:
        yield folder, guardian
    finally:
        guardian.join(_GUARDIAN_SECONDS)


@contextmanager
def scratch_servers() -> Iterator[Scratch]:
    """Durable servers with two migrated databases, in both of which statements are counted. Raises `ServerFailed`."""
    with scratch_folder() as (folder, guardian):
        servers = Servers(folder, guardian=guardian)
        try:
            load_statement_counter(servers.start().database_url)
            servers.stop()
            urls = servers.start()
            filled_url = urls.database_url.rpartition("/")[0] + "/" + _FILLED
            ensure_database(filled_url)
            for url in (urls.database_url, filled_url):
                upgrade(url)
                count_statements(url)
            yield Scratch(folder, guardian, servers, urls, filled_url)
        finally:
            servers.stop()
