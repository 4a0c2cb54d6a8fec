"""Measure a workload: its figures and whether they count, as a line of results.json."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from orchestrator.bench.meter import Meter
from orchestrator.bench.stage import Stage
from orchestrator.bench.steplog import faults, gaps_ms, quantile, read
from orchestrator.bench.submit import start_all
from orchestrator.bench.workloads import AGAIN, LISTED, Workload
from orchestrator.errors import OrchestratorError
from orchestrator.ids import new_token
from orchestrator.store.counters import Counters, forget_statements, frequent_statements, read_counters
from orchestrator.store.db import Database

Line = dict[str, Any]
_FREQUENT = 0.05  # calls a step: statements that are called less often are not listed


def measure_graph(stage: Stage, workload: Workload) -> Line:
    """From before the first start until the client knows that every run has succeeded.

    The document is new: that processes compile it is part of the time.
    """
    client, log, name = stage.client, stage.new_log(), f"{workload.name}-{new_token()}"
    client.register(workload.document(name))
    gauge = Gauge(stage)
    gauge.measure(lambda: stage.wait(start_all(client, name, workload.runs, log)))
    ran = read(log)
    gaps = gaps_ms(ran, workload)
    again = _again(stage, workload, name) if workload.name == AGAIN else {"faults": []}
    return {
        **gauge.line(workload.steps),
        **again,
        "faults": gauge.faults + faults(ran, workload) + again["faults"],
        "statements": gauge.statements(workload.steps) if workload.name == LISTED else [],
        "p50_gap_ms": round(quantile(gaps, 0.5), 3) if gaps else None,
        "p95_gap_ms": round(quantile(gaps, 0.95), 3) if gaps else None,
    }


def _again(stage: Stage, workload: Workload, name: str) -> Line:
    """Memory over a second, identical run: what the first one made processes remember of the graph is there by now."""
    gauge = Gauge(stage)
    gauge.measure(lambda: stage.wait(start_all(stage.client, name, workload.runs, stage.new_log())))
    cost = gauge.cost()
    return {"again_peak_mb": cost["peak_mb"], "again_grown_mb": cost["grown_mb"], "faults": gauge.faults}


class Gauge:
    """Time, CPU, memory and Postgres' counters around an act."""

    def __init__(self, stage: Stage) -> None:
        self._db: Database = stage.client.engine.db
        self._meter = Meter(stage.roots)
        self.faults: list[str] = []
        self.seconds = 0.0
        self.used = Counters(0, 0, 0)

    def measure(self, act: Callable[[], object]) -> None:
        """Do it once. A run that does not succeed in time becomes a fault."""
        with self._db.transaction() as conn:
            forget_statements(conn)
        before = self._counters()
        with self._meter:
            began = time.monotonic()
            try:
                act()
            except (TimeoutError, OrchestratorError) as error:
                self.faults.append(str(error))
            self.seconds = time.monotonic() - began
        self.used = self._counters() - before

    def line(self, steps: int) -> Line:
        """The figures, for `steps` steps."""
        used = self.used
        return {
            "steps": steps,
            "seconds": round(self.seconds, 4),
            "steps_per_s": round(steps / self.seconds, 1),
            "statements_per_step": round(used.statements / steps, 2),
            "commits_per_step": round(used.commits / steps, 3),
            "wal_bytes_per_step": round(used.wal_bytes / steps),
            **self.cost(),
        }

    def cost(self) -> Line:
        """What the processes used of the machine, and others beside them."""
        meter = self._meter
        return {
            "cpu_s": {name: round(seconds, 2) for name, seconds in meter.cpu_s.items()},
            "peak_mb": {name: round(meter.peak_mb[name]) for name in ("worker", "beat")},
            "grown_mb": {name: round(meter.peak_mb[name] - meter.first_mb[name]) for name in ("worker", "beat")},
            "foreign_cpu_percent": round(meter.foreign_percent, 1),
        }

    def cpu_percent(self) -> dict[str, float]:
        """Of one core."""
        return {name: round(100 * seconds / self.seconds, 2) for name, seconds in self._meter.cpu_s.items()}

    def statements(self, steps: int) -> list[tuple[str, float]]:
        """The frequent ones, with their calls a step."""
        with self._db.transaction() as conn:
            found = frequent_statements(conn, max(1, round(_FREQUENT * steps)))
        return [(query, round(calls / steps, 2)) for query, calls in found]

    def _counters(self) -> Counters:
        with self._db.transaction() as conn:
            return read_counters(conn)
