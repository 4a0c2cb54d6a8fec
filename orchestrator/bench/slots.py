"""W10: whether slots are kept busy by steps that take a while, and whether slow steps hold back others."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.bench.graphs import sleepers
from orchestrator.bench.measure import Gauge, Line
from orchestrator.bench.stage import Stage
from orchestrator.bench.steplog import Log, quantile, read
from orchestrator.bench.submit import start_all
from orchestrator.ids import new_token

BUSY_SLOTS = 8
BESIDE_SLOTS = 10  # 8 of them for the slow steps
_SHORTEST_MS, _LONGEST_MS = 20, 200
_SLOW, _SLOW_SECONDS, _SHORT = 8, 2.0, 100
_SECOND = 1e9  # in nanoseconds


def measure_use(stage: Stage, size: str) -> Line:
    """One step, then `size` steps side by side that sleep for 20 to 200 ms: the share of the slots' time they take.

    From the first one's start to the last one's, for then there is nothing left that could fill a slot.
    """
    spread = _LONGEST_MS - _SHORTEST_MS + 1
    seconds = [(_SHORTEST_MS + index * 37 % spread) / 1000 for index in range(int(size))]
    log, line = _measure(stage, seconds)
    return {**line, "use_percent": round(100 * used_share(log, stage.slots), 2)}


def measure_beside(stage: Stage) -> Line:
    """One step, then 100 short and 8 slow steps that are ready together: how long the short ones are not begun."""
    every = (_SLOW + _SHORT) // _SLOW
    seconds = [_SLOW_SECONDS if index % every == every // 2 else 0.0 for index in range(_SLOW + _SHORT)]
    log, line = _measure(stage, seconds)
    waits = queue_times_ms(log, [f"n{index}" for index, value in enumerate(seconds) if not value])
    return {**line, "p99_queue_ms": round(quantile(waits, 0.99), 1) if waits else None}


def _measure(stage: Stage, seconds: Sequence[float]) -> tuple[Log, Line]:
    log, name = stage.new_log(), f"W10-{new_token()}"
    stage.client.register(sleepers(name, seconds))
    gauge = Gauge(stage)
    gauge.measure(lambda: stage.wait(start_all(stage.client, name, 1, log)))
    ran, steps = read(log), 1 + len(seconds)
    faults = [] if len(ran.steps) == steps and not ran.again else [f"{len(ran.steps)} of {steps} steps ran once"]
    return ran, {**gauge.line(steps), "faults": gauge.faults + faults}


def used_share(log: Log, slots: int) -> float:
    """The share of the slots' time that was spent in the steps behind the first."""
    ran = [one for (_, name), one in log.steps.items() if name != "source"]
    if not ran:
        return 0.0
    first, last = min(one.start for one in ran), max(one.start for one in ran)
    inside = sum(min(one.end, last) - one.start for one in ran)
    return inside / (slots * max(last - first, 1))


def queue_times_ms(log: Log, names: Sequence[str]) -> list[float]:
    """Between the end of the first step and the start of each of these."""
    ready = log.steps[0, "source"].end if (0, "source") in log.steps else 0
    return [(log.steps[0, name].start - ready) * 1000 / _SECOND for name in names if (0, name) in log.steps]
