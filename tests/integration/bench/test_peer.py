"""This engine in a suite of peers, whose module `common` is played here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.bench.steplog import faults, read
from orchestrator.bench.workloads import Workload, graph_workload

# What the script asks of a suite: workloads, servers, a folder for the steps' log, and `measure`.
COMMON = """
import json, os, time

CONCURRENCY, STEPLOG = 2, os.environ["BENCH_STEPLOG"]

class Workload:
    def __init__(self, name, runs, parents, size):
        self.name, self.runs, self.parents, self.size = name, runs, parents, size

def pg_url(name):
    return os.environ["PLAYED_DATABASE"] if name == "product_bench" else None

def redis_url(number):
    return os.environ["PLAYED_BROKER"] if number == 9 else None

def chosen_workloads():
    return ["W1", "W2", "W3"]

def workload(name):
    runs, parents = json.loads(os.environ["PLAYED_WORKLOADS"])[name]
    return Workload(name, runs, parents, {})

def fresh_tag():
    return f"warm-{time.monotonic_ns()}"

def measure(peer, version, name, run_it, durable, workers):
    run_it(workload(name), f"{peer}-{name}")
    print(json.dumps({"peer": peer, "version": version, "workload": name, "durable": durable}), flush=True)
"""


@pytest.mark.timeout(120)
def test_the_script_runs_the_workloads_of_the_suite_on_its_servers(
    tmp_path: Path, database_url: str, broker_url: str
) -> None:
    workloads = {name: graph_workload(name, size) for name, size in (("W1", "2x3"), ("W2", "4"), ("W3", "2"))}
    suite, log = tmp_path / "suite", tmp_path / "log"
    suite.mkdir()
    (suite / "common.py").write_text(COMMON)
    said = subprocess.run(
        [sys.executable, "-m", "orchestrator.bench.peer"],
        cwd=suite,
        env={
            "PATH": os.defpath,
            "HOME": str(tmp_path),
            "BENCH_STEPLOG": str(log),
            "PLAYED_DATABASE": database_url.replace("postgresql+psycopg2:", "postgresql:"),
            "PLAYED_BROKER": broker_url,
            "PLAYED_WORKLOADS": json.dumps({n: (w.runs, w.graph) for n, w in workloads.items()}),
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    printed = [json.loads(line) for line in said.stdout.splitlines()]
    assert [(line["peer"], line["workload"], line["durable"]) for line in printed] == [
        ("ours", name, True) for name in workloads
    ]
    assert [(name, fault) for name, made in workloads.items() for fault in _faults(log, name, made)] == []


def _faults(log: Path, name: str, workload: Workload) -> list[str]:
    return faults(read(str(log / f"ours-{name}")), workload)
