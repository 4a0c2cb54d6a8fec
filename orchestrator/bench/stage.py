"""A database with the processes round it, ready to be measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.bench.graphs import chain, document
from orchestrator.bench.meter import wait_idle
from orchestrator.bench.processes import Processes
from orchestrator.bench.scratch import Scratch
from orchestrator.bench.steps import MODULE
from orchestrator.bench.submit import start_all, wait_all
from orchestrator.client import Orchestrator
from orchestrator.config import Config
from orchestrator.embedded.ports import LOOPBACK, free_port
from orchestrator.ids import new_token
from orchestrator.store.counters import watcher_url
from orchestrator.store.db import Database

WARM_UP_RUNS = 40
_WEB_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Stage:
    """`roots`: process ids of worker, beat, web and the servers, by name. What `watcher` asks is not counted.

    `web_url` is empty where the web process was not asked for.
    """

    client: Orchestrator
    watcher: Database
    slots: int
    roots: dict[str, int]
    logs: Path
    web_url: str = ""

    def new_log(self) -> str:
        """Where the steps of one measurement write (steps.py)."""
        return str(self.logs / new_token())

    def wait(self, run_ids: Sequence[str]) -> None:
        """Wait until these runs have succeeded (submit.py)."""
        wait_all(self.watcher, run_ids)


@contextmanager
def staged(scratch: Scratch, config: Config, database_url: str, slots: int, *, web: bool = False) -> Iterator[Stage]:
    """Start a worker with `slots` slots, beat and perhaps the web process, warm them up, and end them afterwards."""
    config = replace(
        config,
        database_url=database_url,
        broker_url=scratch.urls.broker_url,
        functions=(MODULE,),
        concurrency=slots,
        data_dir=scratch.folder,
        port=free_port(),
    )
    processes = Processes(config, scratch.folder, scratch.guardian)
    client = Orchestrator.from_env(config)
    watcher = Database.connect(watcher_url(database_url), pool_size=1, application_name="orchestrator-bench")
    try:
        processes.start_worker_and_beat()
        if web:
            processes.start_web()
        web_url = f"http://{LOOPBACK}:{config.port}" if web else ""
        stage = Stage(client, watcher, slots, processes.pids | scratch.servers.pids, scratch.folder, web_url)
        _warm_up(stage)
        yield stage
    finally:
        client.close()
        watcher.close()
        processes.stop()


def _warm_up(stage: Stage) -> None:
    stage.client.register(document("warm-up", chain(3)))
    stage.wait(start_all(stage.client, "warm-up", WARM_UP_RUNS, stage.new_log()))
    if stage.web_url:
        wait_idle(stage.roots["web"], _WEB_PATIENCE)  # it compiles its pages once it serves
