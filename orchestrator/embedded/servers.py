"""The embedded servers of one data folder."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from orchestrator.data_folder import DataFolder
from orchestrator.embedded.cluster import SUPERUSER, make_cluster, start_cluster
from orchestrator.embedded.errors import ServerFailed, log_tail
from orchestrator.embedded.guardian import Guardian
from orchestrator.embedded.ports import LOOPBACK, free_port
from orchestrator.embedded.server import Server
from orchestrator.embedded.valkey import start_valkey
from orchestrator.store.databases import ensure_database

DATABASE = "orchestrator"
_KEPT = "servers.json"
_STOP_SECONDS = 10.0
_TRIES = 3
_DATABASES, _TEST_DATABASES = 16, 4096
_PORT_TAKEN = "Address already in use"


@dataclass(frozen=True, slots=True)
class ServerUrls:
    """Where the servers are; empty for one that was not asked for. They hold passwords."""

    database_url: str = field(repr=False)
    broker_url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What stays the same from one start to the next: passwords, and ports while they are free."""

    postgres_password: str = field(default_factory=lambda: secrets.token_hex(24), repr=False)
    valkey_password: str = field(default_factory=lambda: secrets.token_hex(24), repr=False)
    ports: dict[str, int] = field(default_factory=dict)


class Servers:
    """PostgreSQL and Valkey in a data folder whose lock the caller holds.

    `durable=False` is for tests: a crash of the machine may lose data. With a `guardian` they end when this
    process is killed.
    """

    def __init__(
        self,
        data_dir: DataFolder | Path,
        *,
        postgres: bool = True,
        valkey: bool = True,
        durable: bool = True,
        guardian: Guardian | None = None,
    ) -> None:
        self._folder = data_dir if isinstance(data_dir, DataFolder) else DataFolder(data_dir)
        self._wanted = [name for name, wanted in (("postgres", postgres), ("valkey", valkey)) if wanted]
        self._durable = durable
        self._guardian = guardian
        self._kept = _Kept()
        self._choosing = threading.Lock()
        self._starters = {"postgres": self._start_postgres, "valkey": self._start_valkey}
        self._running: dict[str, Server] = {}

    def start(self) -> ServerUrls:
        """Start them, together, and wait until both answer. Raises `ServerFailed`; then none is left running."""
        self._folder.create()
        if "postgres" in self._wanted:
            self._check_password()
        self._keep(self._recall())
        try:
            with ThreadPoolExecutor(len(self._wanted) or 1) as pool:
                list(pool.map(self._start_one, self._wanted))
        except BaseException:
            self.stop()
            raise
        return self.urls

    @property
    def urls(self) -> ServerUrls:
        kept = self._kept
        database = f"{SUPERUSER}:{kept.postgres_password}@{LOOPBACK}:{kept.ports.get('postgres')}/{DATABASE}"
        broker = f":{kept.valkey_password}@{LOOPBACK}:{kept.ports.get('valkey')}/0"
        return ServerUrls(
            f"postgresql+psycopg2://{database}" if "postgres" in self._wanted else "",
            f"redis://{broker}" if "valkey" in self._wanted else "",
        )

    @property
    def pids(self) -> dict[str, int]:
        """Of those that were started, by name."""
        return {name: server.process.pid for name, server in self._running.items()}

    def dead(self) -> dict[str, str]:
        """Those that have ended without being asked to, or could not be revived, and how they ended."""
        found = {name: self._running.get(name) for name in self._wanted}
        return {
            name: "is not running" if server is None else server.ended()
            for name, server in found.items()
            if server is None or not server.alive
        }

    def revive(self, name: str) -> None:
        """Start a dead one again, at its old address, which others know. Raises `ServerFailed`."""
        if name in self._running:
            self._forget(name)
        self._running[name] = self._starters[name](self._kept.ports[name])

    def stop(self) -> None:
        """Stop them: the broker, then Postgres with everything on disk."""
        for name in ("valkey", "postgres"):
            if name in self._running:
                self._running[name].stop(_STOP_SECONDS)
                self._forget(name)

    def disown(self) -> None:
        """Leave them to the guardian and to other processes."""
        for server in self._running.values():
            server.process.returncode = 0

    def _start_one(self, name: str) -> None:
        self._running[name] = self._on_free_port(name, self._starters[name])
        if name == "postgres":
            ensure_database(self.urls.database_url)

    def _start_postgres(self, port: int) -> Server:
        make_cluster(self._folder.postgres, self._kept.postgres_password)
        return start_cluster(
            self._folder.postgres, port, self._log("postgres"), durable=self._durable, guardian=self._guardian
        )

    def _start_valkey(self, port: int) -> Server:
        return start_valkey(
            self._folder.valkey,
            port,
            self._kept.valkey_password,
            self._log("valkey"),
            databases=_DATABASES if self._durable else _TEST_DATABASES,
            guardian=self._guardian,
        )

    def _on_free_port(self, name: str, start: Callable[[int], Server]) -> Server:
        """Start on the port of last time; on another when someone takes it between the look and the start."""
        for _ in range(_TRIES - 1):
            try:
                return start(self._choose_port(name))
            except ServerFailed:
                if _PORT_TAKEN not in log_tail(self._log(name)):
                    raise
        return start(self._choose_port(name))

    def _choose_port(self, name: str) -> int:
        with self._choosing:
            port = free_port(self._kept.ports.get(name))
            self._keep(replace(self._kept, ports=self._kept.ports | {name: port}))
        return port

    def _check_password(self) -> None:
        if self._folder.postgres.exists() and self._folder.read(_KEPT) is None:
            raise ServerFailed(
                f"{self._folder.path / _KEPT}, which holds the password of the database in {self._folder.postgres},"
                " is missing: put it back, or move the database's folder away"
            )

    def _recall(self) -> _Kept:
        text = self._folder.read(_KEPT)
        if text is None:
            return _Kept()
        try:
            return _Kept(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise ServerFailed(f"{self._folder.path / _KEPT} is damaged: {error}") from error

    def _keep(self, kept: _Kept) -> None:
        self._kept = kept
        self._folder.write_private(_KEPT, json.dumps(asdict(self._kept), indent=1))

    def _forget(self, name: str) -> None:
        server = self._running.pop(name)
        if self._guardian is not None:
            self._guardian.drop(server.process.pid)

    def _log(self, name: str) -> Path:
        return self._folder.logs / f"{name}.log"
