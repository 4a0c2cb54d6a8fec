"""Workers started in a folder whose own packages are called as ours are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from orchestrator.store.migrate import upgrade
from orchestrator.up import launch
from tests.integration.workers.fleet import Fleet, Process
from tests.support import wait_for

SHOP = """
import gc
from orchestrator import function

@function(name="shop.total")
def total(amounts):
    return sum(amounts)

@function(name="shop.collects")
def collects():
    return gc.isenabled()
"""
SPAWNING = """
from workers.app import app

app.conf.worker_pool_start_method = "spawn"
"""
CLI = (
    "-P",
    "-c",
    "from orchestrator.cli.main import main; main()",
)  # -P: as the installed command, not from the folder
COMMAND = (*CLI, "worker", "--concurrency=1")
STARTED = 100  # seconds in which a worker has started, and the fresh interpreters of its pool too
SCRIPT = (str(launch.__file__), "-A", "spawning", "worker", "--concurrency=1")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with step functions and with a `workers` and an `orchestrator` of its own."""
    folder = tmp_path / "shop"
    for package in ("workers", "orchestrator"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text("raise RuntimeError('this is not the package that was meant')")
    (folder / "workers" / "billing.py").write_text("rate = 2\n")
    (folder / "shop.py").write_text(SHOP)
    (folder / "spawning.py").write_text(SPAWNING)
    return folder


def run(fleet: Fleet, folder: Path, arguments: tuple[str, ...], functions: str = "shop") -> Process:
    """A worker of the fleet that was started in `folder`."""
    log = fleet.folder / f"{len(fleet.processes)}-shop.log"
    with log.open("wb") as output:
        popen = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, **fleet.environment, "ORCHESTRATOR_FUNCTIONS": functions},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    fleet.processes.append(Process(popen, log))
    return fleet.processes[-1]


@pytest.mark.parametrize("arguments", [COMMAND, SCRIPT], ids=["prefork", "spawn"])
def test_the_folders_functions_run_in_our_worker(fleet: Fleet, shop: Path, arguments: tuple[str, ...]) -> None:
    run(fleet, shop, arguments)
    steps = [
        {"name": "a", "function": "shop.total", "input": {"amounts": [12, 30]}},
        {"name": "garbage_is_collected", "function": "shop.collects"},
    ]
    assert fleet.ended(fleet.start(steps), STARTED)["output"] == {"a": 42, "garbage_is_collected": True}


def test_an_import_from_a_package_that_ours_hides_says_which_hides_which(fleet: Fleet, shop: Path) -> None:
    (shop / "shop.py").write_text("from workers.billing import rate\n")
    worker = run(fleet, shop, COMMAND)
    assert worker.popen.wait(STARTED) != 0
    assert f"'workers' is a package of the orchestrator, which hides {shop / 'workers'}" in worker.said()


def test_functions_of_this_folder_are_listed_as_a_worker_started_here_has_them(shop: Path) -> None:
    done = subprocess.run(
        [sys.executable, *CLI, "functions", "--local"],
        cwd=shop,
        env={**os.environ, "ORCHESTRATOR_FUNCTIONS": "shop"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert any(line.split() == ["shop.total", "shop"] for line in lines)
    assert any(line.startswith("python.echo") and "comes with every worker" in line for line in lines)


@pytest.mark.parametrize(
    ("module", "told"),
    [("shpo", "there is no module 'shpo'"), ("shop.py", "did you mean 'shop'?"), ("gone", "OSError")],
)
def test_a_worker_whose_functions_cannot_be_loaded_says_why_and_ends(
    fleet: Fleet, shop: Path, module: str, told: str
) -> None:
    (shop / "gone.py").write_text("raise OSError('the disk is gone')\n")
    worker = run(fleet, shop, COMMAND, functions=module)
    assert worker.popen.wait(STARTED) == 2
    assert told in worker.said().splitlines()[-1]
    assert worker.said().splitlines()[-1].startswith("orchestrator: step functions could not be loaded: ")
    assert "Traceback" not in worker.said()


def test_a_worker_on_a_database_that_is_not_migrated_says_so_once_and_begins_when_it_is(
    fleet: Fleet, shop: Path
) -> None:
    with fleet.engine.db.transaction() as conn:
        conn.execute(text("DROP SCHEMA public CASCADE"))
        conn.execute(text("CREATE SCHEMA public"))
    worker = run(fleet, shop, COMMAND)
    wait_for(lambda: "orchestrator db upgrade" in worker.said(), STARTED, what="the worker says what is missing")
    upgrade(fleet.database_url)
    steps = [{"name": "a", "function": "shop.total", "input": {"amounts": [12, 30]}}]
    assert fleet.ended(fleet.start(steps))["output"] == {"a": 42}
    assert worker.said().count("orchestrator db upgrade") == 1
    assert "Traceback" not in worker.said()
