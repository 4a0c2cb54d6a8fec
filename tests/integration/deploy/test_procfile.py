"""The Procfile as a host of its kind runs it: URLs as add-ons give them, the release first, `$PORT`, SIGTERM."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from sqlalchemy.engine import make_url

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.services.engine import Engine
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.wait import wait
from orchestrator.store.migrate import check
from tests.integration.deploy.tunnel import tunnel, unsigned_tls
from tests.processes import runs, unused_port
from tests.support import wait_for

ROOT = Path(__file__).resolve().parents[3]
# It gives a process as long to end as Heroku does: its own five seconds a busy machine may stand still.
_HONCHO = "from honcho import command, manager; manager.KILL_WAIT = 30; command.main()"
_FUNCTIONS = """
import time
from pathlib import Path
from orchestrator import function

@function(name="shop.slow")
def slow(folder: str) -> str:
    Path(folder, "begun").touch()
    while not Path(folder, "told to end").exists():
        time.sleep(0.05)
    return "sent"
"""


class Host:
    """An app on it: its folder, its settings, and what runs the Procfile."""

    def __init__(self, folder: Path, database_url: str, broker_url: str) -> None:
        self.folder = folder
        shutil.copy(ROOT / "Procfile", folder)
        (folder / "shop.py").write_text(_FUNCTIONS)
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "PORT": str(unused_port()),
            "DATABASE_URL": database_url,
            "REDIS_URL": broker_url,
            "SECRET_KEY": secrets.token_hex(16),
            "ORCHESTRATOR_FUNCTIONS": "shop",
        }

    def honcho(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            command = [sys.executable, "-c", _HONCHO, "start", *words]
            return subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=log, stderr=subprocess.STDOUT)

    @property
    def said(self) -> str:
        return (self.folder / "log").read_text()

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.env['PORT']}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@pytest.fixture
def host(empty_database: str, broker_url: str, tmp_path: Path) -> Iterator[Host]:
    """A database as `postgres://`, and a broker behind TLS that nobody has signed, as Heroku has both."""
    broker = make_url(broker_url)
    assert broker.port is not None
    with tunnel(broker.port, tls=unsigned_tls(tmp_path)) as port:
        url = broker.set(drivername="rediss", port=port).render_as_string(hide_password=False)
        database = make_url(empty_database).set(drivername="postgres").render_as_string(hide_password=False)
        made = Host(tmp_path, database, url)
        made.env["ORCHESTRATOR_BROKER_TLS_VERIFY"] = "false"
        yield made


@pytest.mark.timeout(400)
def test_a_host_starts_releases_and_stops_it_and_what_was_not_released_does_not_serve(host: Host) -> None:
    with _running(host, "web", "worker", "beat") as (honcho, engine):
        wait_for(lambda: "does not hold the tables of this version" in host.said, 120, what="it says what is missing")
        assert not host.ready()
        assert not check(Config.from_env(host.env).database_url).ready
        assert host.honcho("release").wait(120) == 0, host.said
        wait_for(host.ready, 60, what=f"the web process serves at $PORT; it said {host.said}")
        steps = [{"name": "slow", "function": "shop.slow", "input": {"folder": str(host.folder)}}]
        register(engine, {"name": "w", "steps": steps})
        run_id = start(engine, "w", {}).run_id
        wait_for((host.folder / "begun").exists, 60, what="a worker has begun")
        family = honcho.children(recursive=True)
        honcho.send_signal(signal.SIGTERM)
        # honcho kills what has not ended in time after the first of them: none of it is spent by the step itself.
        wait_for(lambda: "sending SIGTERM to worker" in host.said, 60, what="the worker is told to end")
        (host.folder / "told to end").touch()
        wait_for(lambda: not any(map(runs, family)), 60, what="all have ended")
        # The worker has ended in good order: its step was not lost.
        assert wait(engine.db, run_id, 1).value == "succeeded"
    assert "Traceback" not in host.said


@contextmanager
def _running(host: Host, *names: str) -> Iterator[tuple[psutil.Process, Engine]]:
    process = host.honcho(*names)
    engine = make_engine(Config.from_env(host.env), load_functions=False)
    try:
        yield psutil.Process(process.pid), engine
    finally:
        engine.close()
        left = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.terminate()
        try:
            process.wait(20)
        finally:
            for one in left:
                if runs(one):
                    one.kill()
