"""W9: what the processes cost while nothing is due, and many steps wait."""

from __future__ import annotations

import time

from orchestrator.bench.measure import Gauge, Line
from orchestrator.bench.stage import Stage

_SETTLE_SECONDS = 5.0


def measure_idle(stage: Stage, size: str) -> Line:
    """For `size` seconds. CPU in percent of one core."""
    time.sleep(_SETTLE_SECONDS)  # what starting has left to do
    gauge = Gauge(stage)
    gauge.measure(lambda: time.sleep(int(size)))
    used = gauge.used
    return {
        "seconds": round(gauge.seconds, 2),
        "statements_per_s": round(used.statements / gauge.seconds, 1),
        "commits_per_s": round(used.commits / gauge.seconds, 2),
        "wal_bytes_per_s": round(used.wal_bytes / gauge.seconds),
        **gauge.cost(),
        "cpu_percent": gauge.cpu_percent(),
        "faults": gauge.faults,
    }
