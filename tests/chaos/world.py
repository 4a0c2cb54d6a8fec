"""A small installation of its own, to be destroyed: servers, workers, beats and a web process."""

from __future__ import annotations

import io
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from pathlib import Path

import psutil
import psycopg2
import redis
from sqlalchemy.engine import make_url

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.domain.roles import Role
from orchestrator.embedded import cluster
from orchestrator.embedded.guardian import Guardian
from orchestrator.embedded.place import folder_for_tests
from orchestrator.embedded.servers import Servers
from orchestrator.errors import OrchestratorError, Unreachable
from orchestrator.services.tokens import create_token
from orchestrator.store.migrate import upgrade
from tests.chaos import plain, start, weather
from tests.chaos.steps import JOURNAL
from tests.chaos.weather import Weather
from tests.integration.workers.fleet import Fleet, Process
from tests.integration.workers.forks import Forks
from tests.processes import keep_ports, unused_port
from tests.support import wait_for

LEASE = 3.0
# Short, so that much happens in little time. Nothing is poison here: a step may be lost as often as it takes.
PACE = {"LEASE_SECONDS": f"{LEASE}", "TICK_SECONDS": "0.2", "RESEND_SECONDS": "1", "TIMEOUT_GRACE_SECONDS": "1"}
CONNECTIONS = 80
SECRET = "planted-5ecret-value"
# What Celery says then: it waits for its child in vain, or finds no pipes for another one in the place of it.
_CHILD_KILLED = ("Could not start worker processes", "Unrecoverable error: StopIteration()")
MARK = "CHAOS_WORLD"  # in the environment of all its processes

# Every move of a status, and when a run began indeed, written down in the transaction that makes it.
_MOVES = """
CREATE TABLE chaos_moves (number bigint GENERATED ALWAYS AS IDENTITY, at timestamptz DEFAULT clock_timestamp(),
  kind text, id uuid, was text, became text);
CREATE FUNCTION chaos_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chaos_moves (kind, id, was, became) VALUES (TG_ARGV[0], OLD.id, OLD.status, NEW.status);
  RETURN NULL;
END $$;
CREATE TABLE chaos_begun (run_id uuid, at timestamptz DEFAULT clock_timestamp());
CREATE FUNCTION chaos_note_begun() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO chaos_begun (run_id) VALUES (NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_begun AFTER INSERT ON workflow_runs FOR EACH ROW EXECUTE FUNCTION chaos_note_begun();
CREATE TRIGGER chaos_steps AFTER UPDATE ON workflow_run_steps FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION chaos_note('step');
CREATE TRIGGER chaos_runs AFTER UPDATE ON workflow_runs FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION chaos_note('run');
"""


class NoForks(Forks):
    """Processes of this world are started as they are in use."""

    def __init__(self) -> None:
        """Nothing to fork from."""


class World(Fleet):
    """`workers`, `beats`, `webs` and `plains` (of plain Celery tasks) are those that are to live; `seed` is of all
    that is left to chance. `pace`: how long faults last, as a share of the usual."""

    def __init__(self, servers: Servers, folder: Path, seed: int, pace: float = 1.0) -> None:
        self.servers, self.random, self.seed, self.pace = servers, random.Random(seed), seed, pace
        self.mark = secrets.token_hex(8)
        self.workers: list[Process] = []
        self.beats: list[Process] = []
        self.webs: list[Process] = []
        self.plains: list[Process] = []
        self.crashes: list[float] = []  # when Postgres was stopped without a checkpoint
        self.told: list[str] = []
        self.frail: list[Process] = []  # that may end by themselves
        self.died: list[Process] = []  # that nobody asked to
        super().__init__(servers.urls.database_url, servers.urls.broker_url, folder, NoForks())
        self.environment |= {
            **{f"ORCHESTRATOR_{name}": value for name, value in PACE.items()},
            "ORCHESTRATOR_FUNCTIONS": "tests.chaos.steps",
            "ORCHESTRATOR_MAX_LOST": "1000",
            "ORCHESTRATOR_SECRET_PLANTED": SECRET,
            "SECRET_KEY": secrets.token_hex(16),
            JOURNAL: self.journal,
            MARK: self.mark,
            weather.FILE: str(folder / "weather"),
            weather.DISK: str(folder / "disk"),
            "ORCHESTRATOR_BLOB_URL": (folder / "blobs").as_uri(),
            "ORCHESTRATOR_BLOB_OVER": "64 KiB",
        }
        self.engine = make_engine(Config.from_env(self.environment), load_functions=False)
        self.refuse("")
        self.calm()
        self._port, self._token = 0, ""
        self._ended = threading.Event()
        self._postman = threading.Thread(target=self._deliver, daemon=True)
        self._postman.start()

    def tell(self, what: str) -> None:
        """For whoever reads the output of a failed test."""
        self.told.append(f"{time.monotonic():.2f} {what}")

    def last(self, least: float, most: float) -> None:
        """Let a fault go on for so many seconds."""
        time.sleep(self.random.uniform(least, most) * self.pace)

    def calm(self) -> None:
        """Every message arrives once, at once."""
        Weather().write(self.folder / "weather")

    def refuse(self, what: str) -> None:
        """What the blob store's disk refuses from now on: `writes`, `all`, or nothing."""
        fresh = self.folder / "disk.new"
        fresh.write_text(what)
        fresh.replace(self.folder / "disk")

    def blow(self, weather: Weather) -> None:
        weather.write(self.folder / "weather")

    # Processes.

    def _start(
        self, program: str, options: Sequence[str], settings: Mapping[str, str], app: str = "workers.app"
    ) -> Process:
        own = {f"ORCHESTRATOR_{name}": value for name, value in settings.items() if not name.startswith("CHAOS_")}
        own |= {name: value for name, value in settings.items() if name.startswith("CHAOS_")}
        return self._launch(program, ["-A", app, program, *options], own)

    def _launch(self, name: str, words: Sequence[str], own: Mapping[str, str]) -> Process:
        log = self.folder / f"{len(self.processes)}-{name}.log"
        with log.open("wb") as output:
            popen = subprocess.Popen(
                [sys.executable, str(start.__file__), *words],
                cwd=start.ROOT,
                env={**_ours(), **self.environment, **own},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(Process(popen, log))
        return self.processes[-1]

    def add_worker(self, *, ready: bool = False, **settings: str) -> Process:
        """A worker of two processes; with `ready`, once it has announced itself."""
        name = f"w{len(self.processes)}@%h"
        options = ["-c", "2", "-P", "prefork", "--without-gossip", "--without-mingle", "-n", name]
        made = self._start("worker", options, settings)
        self.workers.append(made)
        return self._ready(made) if ready else made

    def add_beat(self, *, ready: bool = False) -> Process:
        made = self._start("beat", ["-l", "INFO"], {})
        self.beats.append(made)
        return self._ready(made) if ready else made

    def add_web(self) -> Process:
        """The web process, where a token of an operator opens it."""
        if not self._token:
            self._port = unused_port()
            self._token = create_token(self.engine.db, "chaos", Role.ADMIN).token
        words = ["web.app:create_app()", f"--bind=127.0.0.1:{self._port}", "--threads=4", "--graceful-timeout=2"]
        self.webs.append(self._launch("web", [*words, "--no-control-socket"], {}))
        return self.webs[-1]

    def add_plain(self) -> Process:
        """A worker of a project that has nothing of the orchestrator. It may end by itself, or serve nobody any more
        once its broker was away: that is not to harm us."""
        options = [
            "-c",
            "1",
            "-Q",
            plain.QUEUE,
            "--without-gossip",
            "--without-mingle",
            "-n",
            f"p{len(self.processes)}@%h",
        ]
        self.plains.append(self._start("worker", options, {}, "tests.chaos.plain"))
        self.frail.append(self.plains[-1])
        return self.plains[-1]

    @property
    def web(self) -> tuple[str, str]:
        """Where the REST interface is, and a token for it."""
        return f"http://127.0.0.1:{self._port}/api/v1", self._token

    def _ready(self, process: Process) -> Process:
        def announced() -> bool:
            assert process.popen.poll() is None, process.said()
            return self._announced(process)

        wait_for(announced, 60, what=f"{process.log.name} is ready")
        return process

    def _announced(self, process: Process) -> bool:
        with suppress(Unreachable):
            return bool(self.rows("SELECT FROM workers WHERE pid = :pid", pid=process.pid))
        return False

    def is_complete(self) -> bool:
        """Whether all that is to live does, and is ready; what is missing was started just now."""
        self.replenish()
        return all(map(self._announced, [*self.workers, *self.beats])) and (not self._token or self._answers())

    def _answers(self) -> bool:
        """Whether the web process does."""
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self._port}/healthz", timeout=5):
            return True
        return False

    def kill(self, process: Process) -> None:
        """The process and all it started."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.popen.wait()
        self.forget(process)

    def forget(self, process: Process) -> None:
        """It is not to live any more."""
        for kind in (self.workers, self.beats, self.webs, self.plains):
            if process in kind:
                kind.remove(process)

    def replenish(self) -> None:
        """Two workers, a beat, a web process and a worker of plain Celery tasks live."""
        for kind in (self.workers, self.beats, self.webs, self.plains):
            self.died += [
                process for process in kind if process.popen.poll() is not None and not self._may_end(process)
            ]
            kind[:] = [process for process in kind if process.popen.poll() is None]
        while len(self.workers) < 2:
            self.add_worker()
        if not self.beats:
            self.add_beat()
        if not self.webs and self._token:
            self.add_web()
        if not self.plains:
            self.add_plain()

    def _may_end(self, process: Process) -> bool:
        """Celery ends a worker one of whose processes is killed as it starts, for the worker to be started anew."""
        said = process.said()
        return process in self.frail or any(words in said for words in _CHILD_KILLED)

    # Servers.

    def broker(self, patience: float = 2.0) -> redis.Redis:
        """A client of it, which waits so many seconds for each answer."""
        return redis.Redis.from_url(self.broker_url, socket_timeout=patience, socket_connect_timeout=patience)

    def whole_broker(self) -> redis.Redis:
        """A client for when nothing is broken, which waits for as long as a busy machine takes."""
        return self.broker(60.0)

    def mend_broker(self, act: Callable[[redis.Redis], object]) -> None:
        """Do this to it, however long it does not answer."""

        def is_done() -> bool:
            with suppress(redis.RedisError), self.broker() as client:
                act(client)
                return True
            return False

        wait_for(is_done, what="the broker is mended")

    def stop_server(self, name: str, how: signal.Signals) -> None:
        """Stop Postgres or Valkey; it is down when this returns."""
        if name == "postgres" and how is not signal.SIGINT:
            self.crashes.append(time.monotonic())
        server = self.servers._running[name]
        server.process.send_signal(how)
        try:
            server.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(server.process.pid, signal.SIGKILL)
            server.process.wait()

    def start_server(self, name: str) -> None:
        self.servers.revive(name)

    def statement(self, sql: str) -> None:
        """As an administrator, on a connection that bears no limits; raises psycopg2's `OperationalError`."""
        url = make_url(self.database_url).set(drivername="postgresql").render_as_string(hide_password=False)
        unbound = "-c statement_timeout=0 -c default_transaction_read_only=off"
        connection = psycopg2.connect(url, connect_timeout=5, options=unbound)
        connection.autocommit = True
        try:
            connection.cursor().execute(sql)
        finally:
            connection.close()

    def insist(self, sql: str) -> None:
        """The same, however often another fault beside cuts it off."""

        def is_done() -> bool:
            with suppress(psycopg2.OperationalError, psycopg2.InternalError):  # "tuple concurrently updated"
                self.statement(sql)
                return True
            return False

        wait_for(is_done, 20, what=sql)

    def _deliver(self) -> None:
        """Bring late messages to their queues."""
        while not self._ended.wait(0.05):
            with suppress(redis.RedisError), self.broker() as client:
                for member in client.zrangebyscore(weather.LATE, 0, time.monotonic()):
                    if client.zrem(weather.LATE, member):
                        queue, message = json.loads(member)
                        client.lpush(queue, message)

    # The end.

    def living(self) -> list[psutil.Process]:
        """Processes of this world, the servers apart."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def stop_processes(self) -> list[str]:
        """Stop all in good order, what is not ours by force; those that are left, and where they stand."""
        for foreign in list(self.plains):
            self.kill(foreign)
        for process in self.processes:
            if process.popen.poll() is None:
                process.popen.terminate()
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.popen.wait(20)
        return [_stands(process) for process in self.living()]

    def end(self, *, quiet: bool = False) -> None:
        """Kill everything; unless `quiet`, tell what was done and what all said."""
        self._ended.set()
        self._postman.join(5)
        if not quiet:
            print(f"CHAOS_SEED={self.seed}", *self.told, sep="\n")  # noqa: T201
        with redirect_stdout(io.StringIO()) if quiet else nullcontext():
            super().end()
        for process in self.living():
            with suppress(psutil.Error):
                process.kill()


def _stands(process: psutil.Process) -> str:
    """What a process is at, as it writes to its log when it is asked (start.py)."""
    with suppress(psutil.NoSuchProcess):
        log = Path(os.readlink(f"/proc/{process.pid}/fd/1"))
        before = log.stat().st_size
        process.send_signal(start.TELL)
        with suppress(AssertionError):
            wait_for(lambda: "(most recent call first)" in log.read_bytes()[before:].decode(), 5, what="it tells")
        return (
            f"{process.pid} of {process.ppid()}, {process.status()}, {log.name}\n{log.read_bytes()[before:].decode()}"
        )
    return f"{process.pid}, which has ended since"


def _ours() -> dict[str, str]:
    """Our environment, but that bytecode is kept: so many processes start that it pays."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def world(folder: Path, seed: int, *, pace: float = 1.0, quiet: bool = False) -> Iterator[World]:
    """A world with nobody in it yet."""
    place = Path(folder_for_tests()) / f"orchestrator-chaos-{secrets.token_hex(4)}"
    guardian = Guardian.start(remove=place)
    kept = cluster._SETTINGS["max_connections"]
    cluster._SETTINGS["max_connections"] = str(CONNECTIONS)
    servers = Servers(place, durable=False, guardian=guardian)
    keep_ports(servers)
    made: World | None = None
    try:
        servers.start()
        upgrade(servers.urls.database_url)
        made = World(servers, folder, seed, pace)
        made.statement(_MOVES)
        yield made
    finally:
        if made is not None:
            made.end(quiet=quiet)
        with suppress(OrchestratorError):
            servers.stop()
        cluster._SETTINGS["max_connections"] = kept
        guardian.join(30)
