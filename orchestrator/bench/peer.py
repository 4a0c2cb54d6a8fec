"""This engine among the peers of a peer suite: `python -m orchestrator.bench.peer`, run by the suite in its folder.

The suite's module `common` says which workloads, which servers and how many slots; it measures and checks, and prints
a line for each workload.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import config_urls
from orchestrator.bench.graphs import chain, document
from orchestrator.bench.processes import Processes
from orchestrator.bench.scratch import scratch_folder
from orchestrator.bench.stage import WARM_UP_RUNS
from orchestrator.bench.steps import MODULE
from orchestrator.bench.submit import start_all, wait_all
from orchestrator.bench.workloads import OURS
from orchestrator.client import Orchestrator
from orchestrator.config import Config
from orchestrator.errors import OrchestratorError
from orchestrator.store.migrate import upgrade
from orchestrator.up.stops import signals_interrupt

_DATABASE, _BROKER = "product_bench", 9  # those the suite clears for what it is told to run beside its own
_JOINED = ("W2", "W3")  # the last step is handed all results


def main() -> None:
    """Measure the workloads the suite asks for."""
    suite = importlib.import_module("common")
    with scratch_folder() as (folder, guardian), signals_interrupt():
        config = _config(suite, folder)
        upgrade(config.database_url)
        processes = Processes(config, folder, guardian)
        try:
            processes.start_worker_and_beat()
            client = Orchestrator.from_env(config)
            _measure_all(suite, client)
            client.close()
        finally:  # the suite sends SIGTERM when it has waited long enough
            processes.stop()


def _config(suite: Any, folder: Path) -> Config:
    return replace(
        Config.from_env(need=()),
        database_url=config_urls.database_url(suite.pg_url(_DATABASE)),
        broker_url=config_urls.broker_url(suite.redis_url(_BROKER), verify_tls=True),
        functions=(MODULE,),
        concurrency=suite.CONCURRENCY,
        data_dir=folder,
    )


def _measure_all(suite: Any, client: Orchestrator) -> None:
    os.makedirs(suite.STEPLOG, exist_ok=True)
    _warm_up(suite, client)
    chosen = [suite.workload(name) for name in suite.chosen_workloads()]
    for workload in chosen:
        _register(client, workload)  # as the code of other engines is there before they are measured
    for workload in chosen:
        try:
            _measure(suite, client, workload.name)
        except (TimeoutError, OrchestratorError) as error:  # that it cannot be done is a result too
            suite.fail_line(OURS, workload.name, error)


def _measure(suite: Any, client: Orchestrator, name: str) -> None:
    suite.measure(
        OURS,
        importlib.metadata.version("orchestrator"),
        name,
        lambda workload, tag: _run(suite, client, workload, tag),
        True,
        f"1 worker, prefork -c {suite.CONCURRENCY}; beat",
    )


def _warm_up(suite: Any, client: Orchestrator) -> None:
    workload = suite.Workload("warm-up", WARM_UP_RUNS, chain(3), {})
    _register(client, workload)
    _run(suite, client, workload, suite.fresh_tag())


def _run(suite: Any, client: Orchestrator, workload: Any, tag: str) -> None:
    log = str(Path(suite.STEPLOG) / tag)
    wait_all(client.engine.db, start_all(client, workload.name, workload.runs, log))


def _register(client: Orchestrator, workload: Any) -> None:
    join = list(workload.parents)[-1] if workload.name in _JOINED else None
    client.register(document(workload.name, workload.parents, join))


if __name__ == "__main__":
    main()
