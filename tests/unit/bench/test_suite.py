"""A suite of peers, played by a script."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from orchestrator.bench import run
from orchestrator.bench.run import Wanted, run_bench
from orchestrator.bench.suite import Suite, kept, labels
from orchestrator.cli.bench import keep
from orchestrator.config import Config
from orchestrator.errors import InvalidConfig, OrchestratorError
from tests.processes import lives
from tests.support import wait_for
from tests.unit.bench.results import graph_line, results

# Writes how it was called, and a line for each --also.
PLAYED = """
import json, os, sys
options = [arg.partition("=") for arg in sys.argv[1:]]
out = next(value for name, _, value in options if name == "--out")
print("# round 0", flush=True)
with open(out, "w") as file:
    for name, _, value in options:
        if name == "--also":
            line = {"label": value.partition("=")[0], "workload": "W1", "size": {"runs": 2, "length": 3}, "ok": True,
                    "error": os.getcwd(), "workers": value}
            file.write(json.dumps(line) + "\\n")
    file.write(json.dumps({"limit": "fsync"}) + "\\n")
with open("called.json", "w") as file:
    json.dump([os.environ["BENCH_SIZES"], *sys.argv[1:]], file)
"""
# Leaves a process in a session of its own, and waits.
HANGING = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(f"# {child.pid}", flush=True)
time.sleep(600)
"""


def suite(folder: Path, script: str, names: str = "") -> Suite:
    (folder / "run_all.py").write_text(script)
    return Suite(folder, names, 2, [4, 2])


def test_the_suite_is_told_what_to_measure_and_to_measure_us_too(tmp_path: Path) -> None:
    told: list[str] = []
    lines = suite(tmp_path, PLAYED, "swift,slow").run([("W1", "2x3"), ("W4", "5")], told.append)
    assert told == ["peers: round 0"]
    assert [(line["label"], line["size"], line["asked"]) for line in lines] == [
        ("ours", "2x3", "2x3"),
        ("ours-c2", "2x3", "2x3"),
    ]
    sizes, *called = json.loads((tmp_path / "called.json").read_text())
    assert sizes == "W1=2x3,W4=5"
    assert {"--workloads=W1,W4", "--rounds=2", "--peers=swift,slow", "--no-limits"} <= set(called)
    assert f"--also=ours-c2=BENCH_CONCURRENCY=2 {sys.executable} -m orchestrator.bench.peer" in called


def test_nothing_that_names_a_folder_is_kept() -> None:
    found = kept({"label": "swift", "error": "/home/ada/secret", "log": "/tmp/x", "ok": False})
    assert found == {"label": "swift", "ok": False}


def test_the_first_number_of_slots_is_ours() -> None:
    assert labels([2, 4]) == {"ours": 2, "ours-c4": 4}


def test_a_suite_that_fails_says_so(tmp_path: Path) -> None:
    with pytest.raises(OrchestratorError, match="exit code 3"):
        suite(tmp_path, "raise SystemExit(3)").run([("W1", "2x3")], print)


def test_what_was_measured_of_us_is_kept_when_the_suite_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = results(graph_line(100.0))
    monkeypatch.setattr(run, "_measure", lambda *_: measured)
    out = tmp_path / "results.json"
    wanted = Wanted([[("W1", "2x3")]], 2, [4], 0, 0, 0.0, suite(tmp_path, "raise SystemExit(3)"))
    with pytest.raises(OrchestratorError, match="exit code 3"):
        run_bench(wanted, Config(database_url="postgresql+psycopg2://nowhere/x"), print, partial(keep, out))
    assert json.loads(out.read_text()) == measured


def test_a_folder_without_a_suite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="--peers"):
        Suite(tmp_path, "", 1, [4]).check()


def test_an_interrupt_ends_the_suite_and_what_it_has_left_running(tmp_path: Path) -> None:
    pids: list[int] = []

    def interrupt(said: str) -> None:
        pids.append(int(said.rpartition(" ")[2]))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        suite(tmp_path, HANGING).run([("W1", "2x3")], interrupt)
    (pid,) = pids
    wait_for(lambda: not lives(pid), what="the child has ended")
