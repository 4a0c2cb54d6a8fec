"""Workers with a blob store: what they put away, what they do while it is away, and a setting that cannot be."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.handle import RunHandle
from tests.integration.engine.blobs.shelf import files, is_reference
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for

BIG = {"name": "big", "function": "python.echo", "input": {"value": "{{ 'x' * input.size }}"}}
READ = {
    "name": "read",
    "function": "python.echo",
    "input": {"value": "{{ steps.big.output.value | length }}"},
    "depends_on": ["big"],
}
SMALL = {"name": "small", "function": "python.echo", "input": {"value": 1}}


@pytest.fixture
def shelf(fleet: Fleet, tmp_path: Path) -> Path:
    """The folder of the store; every process of the fleet has it."""
    folder = tmp_path / "shelf"
    fleet.environment["ORCHESTRATOR_BLOB_URL"] = folder.as_uri()
    fleet.engine = make_engine(Config.from_env(fleet.environment), load_functions=False)
    return folder


def lease(fleet: Fleet, run_id: str) -> Any:
    """When the lease of the run's only running step ends."""
    sql = "SELECT lease_expires_at FROM workflow_run_steps WHERE run_id = :id AND status = 'running'"
    return fleet.rows(sql, id=run_id)[0].lease_expires_at


@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_store_that_is_away_for_a_while_costs_no_call_and_keeps_nobody_else_waiting(
    fleet: Fleet, shelf: Path, pool: str
) -> None:
    worker = fleet.worker(pool, concurrency=2)
    first = fleet.start([BIG, READ], {"size": 400_000})
    assert fleet.ended(first)["output"] == {"read": {"value": 400_000}}
    assert is_reference(fleet.step(first, "big")["output"])
    assert len(files(shelf)) == 2  # what it was given, and what it gave
    away = shelf.with_name("away")
    shelf.rename(away)
    shelf.write_text("a file, where a folder is to be")
    waiting = fleet.start([BIG, READ], {"size": 300_000})
    wait_for(lambda: "waits for the blob store" in worker.said(), what="the worker says what it waits for")
    assert fleet.ended(fleet.start([SMALL]))["status"] == "succeeded"
    until = lease(fleet, waiting)
    wait_for(lambda: lease(fleet, waiting) > until, what="the lease of what waits is renewed")
    assert fleet.step(waiting, "big")["status"] == "running"
    shelf.unlink()
    shutil.copytree(away, shelf, dirs_exist_ok=True)  # the worker may have made it anew by now
    assert fleet.ended(waiting)["output"] == {"read": {"value": 300_000}}
    assert fleet.tried(waiting, "big") == ["succeeded"]
    assert len(RunHandle(fleet.engine, waiting).output) == 1


def test_a_worker_that_is_killed_while_the_store_is_away_leaves_the_step_to_another(fleet: Fleet, shelf: Path) -> None:
    shelf.write_text("a file, where a folder is to be")
    worker = fleet.worker()
    run_id = fleet.start([BIG, READ], {"size": 300_000})
    wait_for(lambda: "waits for the blob store" in worker.said(), what="the worker waits for the store")
    worker.kill()
    shelf.unlink()
    fleet.worker()
    fleet.beat()
    assert fleet.ended(run_id)["output"] == {"read": {"value": 300_000}}
    assert fleet.tried(run_id, "big") == ["lost", "succeeded"]


def test_a_kind_of_store_that_cannot_be_had_is_told_at_the_start(fleet: Fleet) -> None:
    env = {**fleet.environment, "ORCHESTRATOR_BLOB_URL": "nosuch://bucket/x", "PATH": ""}
    code = "import sys; from orchestrator.cli.main import run; sys.exit(run(['worker']))"
    said = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert said.returncode == 2
    assert "ORCHESTRATOR_BLOB_URL: cannot be used" in said.stderr
    assert "nosuch" in said.stderr
