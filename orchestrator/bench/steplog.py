"""What the files say that steps.py has written: when each step ran, and whether each ran once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.bench.workloads import Workload

_MILLISECOND = 1e6  # in nanoseconds


@dataclass(frozen=True, slots=True)
class Ran:
    """One step: start and end in nanoseconds, and how many results it was handed."""

    start: int
    end: int
    seen: int | None


@dataclass(slots=True)
class Log:
    """All steps of one measurement by run and name, and how many of them ran more than once."""

    steps: dict[tuple[int, str], Ran] = field(default_factory=dict)
    again: int = 0


def read(log: str) -> Log:
    """The log at this path, of all the processes that wrote to it."""
    found = Log()
    path = Path(log)
    for file in path.parent.glob(f"{path.name}.*"):
        for line in file.read_text().splitlines():
            run, name, start, end, seen = line.split(" ")
            key = (int(run), name)
            found.again += key in found.steps
            found.steps[key] = Ran(int(start), int(end), int(seen) if seen else None)
    return found


def faults(log: Log, workload: Workload) -> list[str]:
    """What is wrong with a measurement; its figures count for nothing then."""
    found = []
    if len(log.steps) != workload.steps:
        found.append(f"{len(log.steps)} of {workload.steps} steps ran")
    if log.again:
        found.append(f"{log.again} steps ran again")
    if workload.join is not None:
        handed = {ran.seen for (_, name), ran in log.steps.items() if name == workload.join}
        if handed != {workload.joined}:
            found.append(f"{workload.join} was handed {sorted(map(str, handed))} results, not {workload.joined}")
    return found


def gaps_ms(log: Log, workload: Workload) -> list[float]:
    """Between the end of a step's last source and its start, of all steps that have sources."""
    return list(_gaps(log, workload))


def _gaps(log: Log, workload: Workload) -> Iterator[float]:
    for run in range(workload.runs):
        for name, sources in workload.graph.items():
            if sources and (run, name) in log.steps and all((run, source) in log.steps for source in sources):
                ready = max(log.steps[run, source].end for source in sources)
                yield (log.steps[run, name].start - ready) / _MILLISECOND


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie; there must be one or more."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
