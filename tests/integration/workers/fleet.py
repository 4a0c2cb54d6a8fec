"""Real workers and beats in processes of their own, for one test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import text

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.ids import new_token
from orchestrator.services.engine import Engine
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.store import outcomes
from orchestrator.up import launch
from tests.integration.workers.forks import ROOT, Forked, Forks
from tests.support import wait_for

# So short that a test need not wait long, and so long that a busy machine keeps them: a lease has at the least half of
# its time left when it is renewed, and a process may stand still for seconds.
PACE = {"LEASE_SECONDS": "8", "TICK_SECONDS": "0.2", "RESEND_SECONDS": "1", "TIMEOUT_GRACE_SECONDS": "1"}


@dataclass
class Process:
    """A worker or a beat, with everything it starts."""

    popen: subprocess.Popen[bytes] | Forked
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    def signal(self, number: signal.Signals) -> None:
        """To the process and its children."""
        os.killpg(self.pid, number)

    def kill(self) -> None:
        """As a crash of its machine."""
        self.signal(signal.SIGKILL)
        self.popen.wait()

    def stop(self) -> int:
        """In good order; its exit code."""
        self.popen.terminate()
        return self.popen.wait(30)

    def children(self) -> list[int]:
        """The pool's processes."""
        return [child.pid for child in psutil.Process(self.pid).children()]

    def said(self) -> str:
        return self.log.read_text()


@dataclass
class Fleet:
    """Processes around one database and one broker, and what tests ask of them."""

    database_url: str
    broker_url: str
    folder: Path
    forks: Forks
    processes: list[Process] = field(default_factory=list)
    home: Path = ROOT  # where workers are started: their functions are found from there
    _clocks: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environment = {
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.broker_url,
            "ORCHESTRATOR_FUNCTIONS": "tests.integration.workers.steps",
            **{f"ORCHESTRATOR_{name}": value for name, value in PACE.items()},
        }
        self.engine: Engine = make_engine(Config.from_env(self.environment), load_functions=False)
        self.journal = str(self.folder / "journal")
        Path(self.journal).touch()

    # Processes.

    def worker(
        self,
        pool: str = "prefork",
        concurrency: int = 2,
        options: Sequence[str] = (),
        app: str = "workers.app",
        **settings: str,
    ) -> Process:
        """A worker that is ready."""
        size = ["-c", str(concurrency), "-P", pool, "--without-gossip", "--without-mingle", "-n", f"{new_token()}@%h"]
        return self._ready(self._start("worker", [*size, *options], settings, app))

    def beat(self, options: Sequence[str] = (), **settings: str) -> Process:
        """A beat that is ready."""
        return self._ready(self._start("beat", ["-l", "INFO", *options], settings))

    def plain(self, *queues: str, pool: str = "prefork", concurrency: int = 2, **environment: str) -> Process:
        """A worker of another project, tests/integration/workers/plain, that is ready; it finds nothing of ours unless
        `PROJ_INSTALL` is set."""
        log = self.folder / f"{len(self.processes)}-plain.log"
        own = {
            "PROJ_BROKER": self.broker_url,
            "C_FORCE_ROOT": "1",
            "PYTHONPATH": str(ROOT) if "PROJ_INSTALL" in environment else "",
        }
        size = ["-c", str(concurrency), "-P", pool, "-l", "INFO", "--without-mingle", "-n", f"{new_token()}@%h"]
        words = ["-A", "proj", "worker", "-Q", ",".join(queues) or "celery", *size]
        home = ROOT / "tests/integration/workers/plain"
        log.touch()  # until the process has come to open it
        popen = self.forks.start_plain(words, {**os.environ, **own, **environment}, log, home)
        process = Process(popen, log)
        self.processes.append(process)
        wait_for(lambda: "ready." in process.said() or popen.poll() is not None, 60, what="the other project is ready")
        assert popen.poll() is None, process.said()
        return process

    def start_only(self, program: str, options: Sequence[str] = (), **settings: str) -> Process:
        """A process that need not become ready."""
        return self._start(program, options, settings)

    def _start(
        self, program: str, options: Sequence[str], settings: Mapping[str, str], app: str = "workers.app"
    ) -> Process:
        log = self.folder / f"{len(self.processes)}-{program}.log"
        own = {f"ORCHESTRATOR_{name}": value for name, value in settings.items() if name.isupper()}
        env = {**os.environ, **self.environment, **own}
        argv = ["-A", app, program, *options]
        log.touch()  # until the process has come to open it
        started = _execute(argv, env, log) if "gevent" in options else self.forks.start(argv, env, log, self.home)
        self.processes.append(Process(started, log))
        return self.processes[-1]

    def _ready(self, process: Process) -> Process:
        def announced() -> bool:
            assert process.popen.poll() is None, process.said()
            return bool(self.rows("SELECT FROM workers WHERE pid = :pid", pid=process.pid))

        wait_for(announced, 60, what=f"{process.log.name} is ready")
        return process

    def end(self) -> None:
        """Kill everything, and show what it said: pytest prints that when the test failed."""
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.popen.wait()
        for process in self.processes:
            print(f"--- {process.log.name}\n{process.said()[-6000:]}")  # noqa: T201
        self.engine.close()

    # Runs.

    def start(self, steps: Sequence[Mapping[str, Any]], input: Any = None, **document: Any) -> str:
        """Register a workflow of these steps and start it; the run's id."""
        name = f"w-{new_token()}"
        register(self.engine, {"name": name, "steps": list(steps), **document})
        return start(self.engine, name, input).run_id

    def ended(self, run_id: str, deadline: float = 40) -> dict[str, Any]:
        """The run, once it has ended."""

        def over() -> dict[str, Any] | None:
            with self.engine.db.transaction() as conn:
                run = outcomes.load_run(conn, run_id)
            return run if run["status"] in ("succeeded", "failed", "canceled") else None

        run = wait_for(over, deadline, what="the run has ended")
        assert run is not None
        return run

    def step(self, run_id: str, name: str) -> dict[str, Any]:
        """A step as it is now, with `history`, its attempts."""
        with self.engine.db.transaction() as conn:
            return next(step for step in outcomes.load_steps(conn, run_id) if step["name"] == name)

    def tried(self, run_id: str, name: str) -> list[str]:
        """The outcomes of a step's attempts."""
        return [attempt["outcome"] for attempt in self.step(run_id, name)["history"]]

    def rows(self, sql: str, **values: Any) -> list[Any]:
        with self.engine.db.transaction() as conn:
            return list(conn.execute(text(sql), values))

    def clock(self, name: str) -> float:
        """Seconds since the first call with this name."""
        return time.monotonic() - self._clocks.setdefault(name, time.monotonic())

    # The journal of tests/integration/workers/steps.py.

    def events(self, kind: str | None = None, step: str | None = None) -> list[dict[str, Any]]:
        """What the functions wrote down; of a line that is being written, nothing."""
        whole = Path(self.journal).read_text().rpartition("\n")[0]
        events = [json.loads(line) for line in whole.splitlines()]
        return [e for e in events if kind in (None, e["kind"]) and step in (None, e["step"])]

    def wait_event(self, kind: str, step: str | None = None, count: int = 1) -> dict[str, Any]:
        """The latest event of a kind, once there are `count`."""
        found = wait_for(
            lambda: events if len(events := self.events(kind, step)) >= count else None, what=f"{count} {kind} {step}"
        )
        assert found is not None
        return found[-1]

    def flag(self, name: str) -> str:
        """A file that does not exist yet, for functions to wait for."""
        return str(self.folder / name)

    def raise_flag(self, name: str) -> None:
        Path(self.flag(name)).touch()

    def pipe(self, name: str) -> str:
        """A pipe that blocks whoever opens it to read, until `open_pipe`."""
        os.mkfifo(self.flag(name))
        return self.flag(name)

    def open_pipe(self, name: str) -> None:
        def is_opened() -> bool:
            with suppress(OSError):  # nobody reads yet
                os.close(os.open(self.flag(name), os.O_WRONLY | os.O_NONBLOCK))
                return True
            return False

        wait_for(is_opened, what=f"somebody reads {name}")


def _execute(argv: Sequence[str], env: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Where what is imported when matters: gevent changes modules before others see them."""
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, str(launch.__file__), *argv],
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
