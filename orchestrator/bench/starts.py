"""W8: how many runs a second can be started."""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.bench.graphs import document
from orchestrator.bench.measure import Gauge, Line
from orchestrator.bench.rest import start_by_rest
from orchestrator.bench.stage import Stage
from orchestrator.bench.steplog import faults, read
from orchestrator.bench.submit import start_each
from orchestrator.bench.workloads import Workload
from orchestrator.ids import new_token
from orchestrator.store.bare import commits_per_second

_ONE_STEP = {"only": ()}
_NOBODYS = "nobody"  # a queue
_COMMITS_SECONDS = 2.0


def measure_starts(stage: Stage, size: str) -> Line:
    """`size` starts by one client in one thread, then as many each in a transaction of the caller's own, then by REST.

    The worker is there and runs them meanwhile. Timed are the starts alone; the runs are waited for and checked.
    Before that, with an idle worker: the bare commits one client can make, and `size` starts of runs that nobody runs.
    """
    bare = commits_per_second(stage.client.engine.db, _COMMITS_SECONDS)
    unattended = _measure_unattended(stage, int(size))
    workload = Workload("W8", size, int(size), _ONE_STEP)
    own = _measure(stage, workload, lambda name, log: start_each(stage.client, name, workload.runs, log))
    given = _measure(stage, workload, lambda name, log: _start_in_transactions(stage, name, workload.runs, log))
    rest = _measure(stage, workload, lambda name, log: start_by_rest(stage, name, workload.runs, log))
    return {
        **own,
        "bare_commits_per_s": round(bare, 1),
        "unattended_starts_per_s": unattended,
        "starts_per_s": own["steps_per_s"],
        "transactional_starts_per_s": given["steps_per_s"],
        "rest_starts_per_s": rest["steps_per_s"],
        "faults": own["faults"] + given["faults"] + rest["faults"],
    }


def _measure_unattended(stage: Stage, count: int) -> float:
    """Their step is for a queue that no worker serves; the runs are canceled."""
    name = f"W8-{new_token()}"
    made = document(name, _ONE_STEP)
    stage.client.register({**made, "defaults": {**made["defaults"], "queue": _NOBODYS}})
    began = time.monotonic()
    run_ids = start_each(stage.client, name, count, stage.new_log())
    took = time.monotonic() - began
    for run_id in run_ids:
        stage.client.cancel(run_id)
    return round(count / took, 1)


def _measure(stage: Stage, workload: Workload, act: Callable[[str, str], list[str]]) -> Line:
    log, name = stage.new_log(), f"W8-{new_token()}"
    stage.client.register(document(name, workload.graph))
    gauge = Gauge(stage)
    run_ids: list[str] = []
    gauge.measure(lambda: run_ids.extend(act(name, log)))
    stage.wait(run_ids)
    return {**gauge.line(workload.steps), "faults": gauge.faults + faults(read(log), workload)}


def _start_in_transactions(stage: Stage, name: str, count: int, log: str) -> list[str]:
    """Their first steps are sent by the coordinator, which learns of them once the transaction is committed."""
    run_ids = []
    for number in range(count):
        with stage.client.engine.db.transaction() as conn:
            run_ids.append(stage.client.start(name, {"log": log, "run": number}, connection=conn).id)
    return run_ids
