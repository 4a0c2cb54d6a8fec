"""CPU and memory of processes while something is measured, and how much of the machine others took meanwhile."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType

import psutil

CLIENT = "client"  # this process, without its children
QUIET_PERCENT = 12.0
_SAMPLE_SECONDS = 0.5
_LOOK_SECONDS = 0.7
_IDLE_PERCENT = 10.0
_MIB = 1 << 20


class Meter:
    """Between entering and leaving. `roots`: processes by name, each counted with all that it has started."""

    def __init__(self, roots: Mapping[str, int]) -> None:
        self._roots = roots
        self._over = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self.cpu_s: dict[str, float] = {}
        self.first_mb: dict[str, float] = {}
        self.peak_mb: dict[str, float] = {}
        self.foreign_percent = 0.0

    def __enter__(self) -> Meter:
        self._families = {name: _family(pid) for name, pid in self._roots.items()}
        self.first_mb = self._memory()
        self.peak_mb = dict(self.first_mb)
        self._before, self._busy_before = self._cpu(), _machine()
        self._sampler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._sampler.join()
        self._note_peak()
        self._families = {name: _family(pid) for name, pid in self._roots.items()}
        after, (busy, total) = self._cpu(), _machine()
        self.cpu_s = {name: after[name] - self._before[name] for name in after}
        busy, total = busy - self._busy_before[0], max(total - self._busy_before[1], 1e-9)
        self.foreign_percent = 100 * max(0.0, busy - sum(self.cpu_s.values())) / total

    def _cpu(self) -> dict[str, float]:
        own = psutil.Process().cpu_times()
        groups = {name: sum(map(_cpu_of, family)) for name, family in self._families.items()}
        return groups | {CLIENT: own.user + own.system}

    def _memory(self) -> dict[str, float]:
        return {name: sum(map(_memory_of, family)) / _MIB for name, family in self._families.items()}

    def _note_peak(self) -> None:
        for name, megabytes in self._memory().items():
            self.peak_mb[name] = max(self.peak_mb[name], megabytes)

    def _sample(self) -> None:
        while not self._over.wait(_SAMPLE_SECONDS):
            self._note_peak()


def _family(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _cpu_of(process: psutil.Process) -> float:
    """Seconds, with those of children that have ended."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)


def _memory_of(process: psutil.Process) -> int:
    """Resident bytes; what forked processes share counts once for each."""
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _machine() -> tuple[float, float]:
    """Seconds all cores together were busy, and that have passed for them."""
    times = psutil.cpu_times()._asdict()
    total = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
    return total - times["idle"] - times.get("iowait", 0.0), total


def wait_quiet(roots: Iterable[int], patience: float) -> None:
    """Wait until others leave the machine alone, `patience` seconds at most."""
    ours = {str(pid): pid for pid in roots if pid != os.getpid()}
    _wait_until(lambda meter: meter.foreign_percent <= QUIET_PERCENT, ours, patience)


def wait_idle(root: int, patience: float) -> None:
    """Wait until a process, with all that it has started, does nothing of its own; `patience` seconds at most."""
    _wait_until(lambda meter: 100 * meter.cpu_s["it"] / _LOOK_SECONDS <= _IDLE_PERCENT, {"it": root}, patience)


def _wait_until(holds: Callable[[Meter], bool], roots: Mapping[str, int], patience: float) -> None:
    """Wait until it holds of what a meter of these processes sees."""
    ends = time.monotonic() + patience
    while time.monotonic() < ends:
        with Meter(roots) as meter:
            time.sleep(_LOOK_SECONDS)
        if holds(meter):
            return
