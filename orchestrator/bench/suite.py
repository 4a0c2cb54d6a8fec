"""Runs a suite of peers: scripts, kept elsewhere, that run the same workloads on other engines.

The suite is a folder with `run_all.py`, which starts servers of its own, measures every engine it is told to, and
writes a line of JSON for each measurement; it is told to run `orchestrator.bench.peer` beside them, in every round.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from orchestrator.bench import peer
from orchestrator.bench.scratch import scratch_folder
from orchestrator.bench.workloads import OURS
from orchestrator.embedded import Guardian
from orchestrator.errors import InvalidConfig, OrchestratorError, Problem

Line = dict[str, Any]
WORKLOADS = ("W1", "W2", "W3", "W4")  # those a suite knows
_STOP_SECONDS = 30.0
_KEPT = (
    "label", "version", "workload", "size", "round", "attempt", "durable", "workers", "mode", "note", "steps",
    "seconds", "steps_per_s", "p50_step_gap_ms", "p95_step_gap_ms", "peak_rss_mb", "foreign_cpu_pct", "ok",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite in a folder, and which of its peers to run (empty: those it chooses itself)."""

    folder: Path
    names: str
    rounds: int
    slots: Sequence[int]

    def check(self) -> None:
        """Raises `InvalidConfig` when there is no suite in the folder."""
        if not (self.folder / "run_all.py").is_file():
            problem = Problem("--peers", "names no suite of peers: there is no run_all.py in it")
            raise InvalidConfig([problem], "this cannot be measured")

    def run(self, wanted: Sequence[tuple[str, str]], tell: Callable[[str], None]) -> list[Line]:
        """Measure these workloads, in all rounds. Raises `OrchestratorError` when the suite fails."""
        with scratch_folder() as (folder, guardian):
            out = folder / "lines.jsonl"
            with _running(self._command(wanted, out), self.folder, guardian) as process:
                for line in process.stdout or ():
                    if line.startswith("# "):
                        tell(f"peers: {line[2:].strip()}")
            if process.returncode:
                raise OrchestratorError(f"the suite of peers ended with exit code {process.returncode}")
            asked = dict(wanted)
            lines = [json.loads(line) for line in out.read_text().splitlines()]
            return [kept(line) | {"asked": asked[line["workload"]]} for line in lines if line.get("workload") in asked]

    def _command(self, wanted: Sequence[tuple[str, str]], out: Path) -> list[str]:
        sizes = ",".join(f"{name}={size}" for name, size in wanted)
        command = ["env", f"BENCH_SIZES={sizes}", sys.executable, "run_all.py", "--no-limits", f"--out={out}"]
        command += [f"--workloads={','.join(name for name, _ in wanted)}", f"--rounds={self.rounds}"]
        command += [f"--reference={OURS}", *([f"--peers={self.names}"] if self.names else [])]
        for label, slots in labels(self.slots).items():
            own = f"BENCH_CONCURRENCY={slots} {shlex.quote(sys.executable)} -m {peer.__name__}"
            command.append(f"--also={label}={own}")
        return command


def labels(slots: Sequence[int]) -> dict[str, int]:
    """What we are called among the peers: `ours` with the first number of slots, `ours-c2` with another."""
    return {OURS if count == slots[0] else f"{OURS}-c{count}": count for count in slots}


def kept(line: Line) -> Line:
    """What goes into results.json: no error texts, which name folders. A slow peer's size is not the one asked for."""
    found = {key: line[key] for key in _KEPT if key in line}
    if isinstance(line.get("size"), dict):
        found["size"] = "x".join(str(number) for number in line["size"].values())
    return found


@contextmanager
def _running(command: Sequence[str], folder: Path, guardian: Guardian) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    guardian.add(process.pid, signal.SIGINT)
    try:
        yield process
        process.wait()
    finally:
        _end(process)
        guardian.drop(process.pid)


def _end(process: subprocess.Popen[str]) -> None:
    """End the suite as Ctrl-C does, then what it has started in sessions of their own and left running."""
    if process.poll() is None:
        started = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        psutil.wait_procs([psutil.Process(process.pid)], _STOP_SECONDS)
        for left in psutil.wait_procs(started, 0)[1]:
            left.terminate()
        for left in psutil.wait_procs(started, _STOP_SECONDS)[1]:
            left.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
