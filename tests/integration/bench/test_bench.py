"""A whole bench, of tiny workloads."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.bench.page import render
from orchestrator.bench.sheets import sheets
from tests.processes import family, still_running
from tests.support import wait_for

# Any of the tests may be the first of its process, whose fixture measures.
pytestmark = pytest.mark.timeout(400)
CLI = (sys.executable, "-P", "-c", "from orchestrator.cli.main import main; main()")
STEP_LOGS = "*/*-*-*-*-*.*"  # a token and the process that wrote it
TINY = "W1=2x3,W2=5,W3=3,W4=3,W5=4,W6=3x4,W7=3,W8=4,W9=3,W10=12"
OPTIONS = ("--rounds=1", "--slots=2", "--patience=0", "--old-rows=800", "--waiting-rows=400", f"--sizes={TINY}")


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder with a temporary folder in it. Open to others: as root, Postgres runs under another account."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tmp").mkdir()
        folder.chmod(0o755)
        yield folder


@contextmanager
def bench(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A bench in this folder."""
    process = subprocess.Popen(
        [*CLI, "bench", *OPTIONS, *options],
        cwd=folder,
        env={"PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder / "tmp")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """What results.json holds after all workloads, and what was said."""
    with scratch() as folder:
        with bench(folder) as process:
            out, err = process.communicate(timeout=360)
        assert process.returncode == 0, err
        found: dict[str, Any] = json.loads((folder / "results.json").read_text())
        return found | {"out": out, "err": err, "left": list((folder / "tmp").iterdir())}


def test_every_workload_runs_and_passes_its_check(measured: dict[str, Any]) -> None:
    lines = {line["workload"]: line for line in measured["lines"]}
    assert list(lines) == ["W1", "W2", "W3", "W4", "W5", "W6", "W8", "W10", "W7", "W9"]
    assert {name: line["faults"] for name, line in lines.items() if not line["ok"]} == {}
    graphs = [lines[name] for name in ("W1", "W2", "W3", "W4", "W6", "W7")]
    assert [line["steps"] for line in graphs] == [6, 7, 12, 3, 12, 12]
    assert all(0 < line["p50_gap_ms"] <= line["p95_gap_ms"] for line in graphs)
    assert lines["W5"]["steps"] == 6
    assert lines["W7"]["empty_steps_per_s"] > 0
    assert lines["W6"]["again_peak_mb"]["worker"] > 0


def test_what_postgres_did_for_a_step_is_counted(measured: dict[str, Any]) -> None:
    for line in measured["lines"]:
        if "steps" in line:
            assert line["statements_per_step"] > 0, line
            assert line["commits_per_step"] > 0, line
            assert line["wal_bytes_per_step"] > 100, line
    assert any("orchestrator_settle" in query for query, _ in measured["lines"][0]["statements"])


def test_starts_idling_and_slots_have_their_figures(measured: dict[str, Any]) -> None:
    lines = {line["workload"]: line for line in measured["lines"]}
    assert lines["W8"]["starts_per_s"] > 0
    assert lines["W8"]["bare_commits_per_s"] > 0
    assert all(line["additions_m_per_s"] > 0 for line in measured["lines"])
    assert lines["W8"]["unattended_starts_per_s"] > 0
    assert lines["W8"]["transactional_starts_per_s"] > 0
    assert lines["W8"]["rest_starts_per_s"] > 0
    assert lines["W9"]["statements_per_s"] > 0
    assert set(lines["W9"]["cpu_percent"]) == {"worker", "beat", "web", "postgres", "valkey", "client"}
    assert 0 < lines["W10"]["use_percent"] <= 100
    assert lines["W10"]["p99_queue_ms"] > 0


def test_the_results_name_no_host_and_no_folder(measured: dict[str, Any]) -> None:
    text = json.dumps({name: measured[name] for name in ("facts", "lines", "peers")})
    assert [word for word in (socket.gethostname(), tempfile.gettempdir() + "/", str(Path.cwd())) if word in text] == []
    assert measured["facts"]["postgres_settings"]["fsync"] == "on"
    assert measured["facts"]["postgres_settings"]["synchronous_commit"] == "on"
    assert measured["facts"]["old_rows"] == 800


def test_the_results_are_shown_and_can_be_made_a_page(measured: dict[str, Any]) -> None:
    assert all(sheet.title in measured["out"] for sheet in sheets(measured).values())
    assert "round 1: W6 3x4, 2 slots" in measured["err"]
    assert "| W6 | 3x4 | 2 |" in render(measured)


def test_nothing_is_left_of_it(measured: dict[str, Any]) -> None:
    assert measured["left"] == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_however_it_ends_no_process_and_no_folder_is_left(how: signal.Signals) -> None:
    with scratch() as folder, bench(folder, "--workloads=W4", "--sizes=W4=1000") as process:
        wait_for(lambda: any((folder / "tmp").glob(STEP_LOGS)), 120, what="steps run")
        processes = family(psutil.Process(process.pid))
        process.send_signal(how)
        assert process.wait(60) == (130 if how is signal.SIGINT else -signal.SIGKILL)
        wait_for(lambda: not still_running(processes), 60, what="all its processes have ended")
        wait_for(lambda: not list((folder / "tmp").iterdir()), 60, what="its folder is gone")
