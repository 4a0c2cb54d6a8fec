from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from orchestrator.bench import meter
from orchestrator.bench.facts import changed_settings, filesystem_of
from orchestrator.bench.meter import Meter, wait_idle, wait_quiet
from orchestrator.config import Config
from tests.support import wait_for

# Starts a child that takes CPU and memory, and waits for its end.
BUSY = """
import subprocess, sys
code = 'import sys; block = bytearray(b"x") * (60 << 20)\\nwhile True: pass'
subprocess.run([sys.executable, "-c", code])
"""


@contextmanager
def process(code: str) -> Iterator[int]:
    started = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    try:
        yield started.pid
    finally:
        os.killpg(started.pid, 9)
        started.wait()


def test_a_process_counts_with_what_it_has_started() -> None:
    with process(BUSY) as pid:
        wait_for(lambda: _memory(pid) > 60, what="the child has its memory")
        child = psutil.Process(pid).children()[0]
        with Meter({"busy": pid}) as seen:
            before = child.cpu_times().user
            wait_for(lambda: child.cpu_times().user > before + 0.2, what="it has used some CPU")
    assert seen.peak_mb["busy"] >= seen.first_mb["busy"] > 60
    assert seen.cpu_s["busy"] > 0.1
    assert set(seen.cpu_s) == {"busy", "client"}
    assert 0 <= seen.foreign_percent <= 100


def _memory(pid: int) -> float:
    with Meter({"busy": pid}) as seen:
        pass
    return seen.peak_mb["busy"]


def test_a_process_that_is_gone_counts_as_nothing() -> None:
    with process("pass") as pid:
        pass
    with Meter({"gone": pid}) as seen:
        pass
    assert (seen.cpu_s["gone"], seen.peak_mb["gone"]) == (0.0, 0.0)


class Played:
    """Meters that see these shares of others, one after the other."""

    def __init__(self, *shares: float) -> None:
        self.shares = list(shares)

    def __call__(self, roots: Mapping[str, int]) -> Played:
        return self

    def __enter__(self) -> Played:
        self.foreign_percent = self.shares.pop(0)
        self.cpu_s = {"it": self.foreign_percent / 100}
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize(("patience", "left"), [(0, [90.0, 50.0, 3.0, 60.0]), (600, [60.0])])
def test_others_are_waited_for_until_they_are_quiet_or_patience_ends(
    monkeypatch: pytest.MonkeyPatch, patience: float, left: list[float]
) -> None:
    played = Played(90.0, 50.0, 3.0, 60.0)
    monkeypatch.setattr(meter, "Meter", played)
    monkeypatch.setattr(meter, "_LOOK_SECONDS", 0)
    wait_quiet([1], patience)
    assert played.shares == left


@pytest.mark.parametrize(("patience", "left"), [(0, [90.0, 50.0, 3.0, 60.0]), (600, [60.0])])
def test_a_process_is_waited_for_until_it_has_started_or_patience_ends(
    monkeypatch: pytest.MonkeyPatch, patience: float, left: list[float]
) -> None:
    played = Played(90.0, 50.0, 3.0, 60.0)
    monkeypatch.setattr(meter, "Meter", played)
    monkeypatch.setattr(meter, "_LOOK_SECONDS", 1e-3)
    monkeypatch.setattr(meter, "_IDLE_PERCENT", 1e4)
    wait_idle(1, patience)
    assert played.shares == left


def test_settings_that_were_changed_are_told_and_no_others(tmp_path: Path) -> None:
    config = Config.from_env({"ORCHESTRATOR_WINDOW": "7", "ORCHESTRATOR_DATA_DIR": str(tmp_path)}, need=())
    assert changed_settings(config) == {"ORCHESTRATOR_WINDOW": "7"}
    assert changed_settings(replace(config, window=100, concurrency=9, port=1)) == {}


def test_the_filesystem_of_a_folder_is_that_of_the_nearest_mount() -> None:
    assert filesystem_of(Path("/proc/self")) == "proc"
