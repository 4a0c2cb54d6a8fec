from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from orchestrator.embedded import ServerUrls
from tests.integration.local_up import CLI, READY, SHOWN, Up, up_in
from tests.processes import (
    family,
    kill_all,
    name_of,
    other_user,
    owner_of,
    runs,
    still_running,
)
from tests.support import wait_for

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(360)
def test_a_folder_of_any_names_is_started_stopped_and_killed_and_its_data_are_there_each_time(tmp_path: Path) -> None:
    for name in ("orchestrator", "workers", "web", "migrations"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('this is not the package that was meant')")
    with up_in(tmp_path) as up:
        _the_first_start_runs_the_example(up)
        processes = _answers(up)
        _ctrl_c_leaves_no_process(up, processes)
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "report.yaml").write_text(WORKFLOW)
    with up_in(tmp_path, env={"ORCHESTRATOR_FUNCTIONS": "shop"}) as again:
        again.wait_said(SHOWN)
        assert again.execute("SELECT count(*) FROM workflow_runs") == 1, "the example runs once"
        _a_step_of_the_folder_runs_on_any_queue(again)
        before = again.running
        processes = family(psutil.Process(again.process.pid))
        again.process.kill()
        again.process.wait()
    with up_in(tmp_path, "--no-example") as third:
        third.wait_said(READY)
        assert still_running(processes) == []
        assert third.execute("SELECT count(*) FROM workflow_runs") == 2
        assert third.running["database_url"] == before["database_url"]
        third.wait_ready()
        third.execute("CREATE TABLE kept AS SELECT 43 AS answer")
        kill_all(family(psutil.Process(third.process.pid)))  # its servers at once with it
        third.process.wait()
    with up_in(tmp_path, "--example", env={"ORCHESTRATOR_FUNCTIONS": "shop"}) as fourth:
        fourth.wait_said(SHOWN)
        assert fourth.execute("SELECT answer FROM kept") == 43
        assert fourth.execute("SELECT count(*) FROM workflow_runs WHERE status = 'succeeded'") == 3, "it was asked for"


def _the_first_start_runs_the_example(up: Up) -> None:
    up.wait_said(SHOWN)
    order = (READY, "none of your own", "a workflow that came with the package", "order succeeded", SHOWN)
    assert sorted(order, key=up.said.index) == list(order)
    assert up.execute("SELECT status FROM workflow_runs") == "succeeded"


def _answers(up: Up) -> list[psutil.Process]:
    """Everything answers; the processes there are."""
    assert up.get("/healthz") == (200, {"status": "ok"})
    up.wait_ready()
    assert f"/login#token={(up.data / 'admin_token').read_text()}\n" in up.said
    assert up.execute("SELECT count(*) FROM workers WHERE kind = 'worker' AND stopped_at IS NULL") == 1
    return family(psutil.Process(up.process.pid))


def _ctrl_c_leaves_no_process(up: Up, processes: list[psutil.Process]) -> None:
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(60) == 0
    wait_for(lambda: not any(map(runs, processes)), 20, what="all its processes have ended")
    assert "Stopped" in up.said
    assert not (up.data / "running.json").exists()


WORKFLOW = """
name: report
steps:
  - {name: total, function: shop.total, queue: gpu, input: {amounts: [12, 30]}}
output: "{{ steps.total.output }} EUR"
"""
SHOP = """
from orchestrator import function

@function(name="shop.total")
def total(amounts):
    return sum(amounts)
"""


def _a_step_of_the_folder_runs_on_any_queue(up: Up) -> None:
    assert up.cli("register", "report.yaml").returncode == 0
    done = up.cli("start", "report", "--wait")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, '"42 EUR"'), done.stderr


@pytest.mark.timeout(240)
def test_what_dies_is_started_again(tmp_path: Path) -> None:
    with up_in(tmp_path, "--no-example") as up:
        up.wait_said(READY)
        for name in ("worker", "beat"):
            up.child(name).kill()
            up.wait_said(f"{name} was killed by signal 9")
            up.wait_said(f"{name} was started again")
        up.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        for name in ("postgres", "valkey"):
            next(c for c in psutil.Process(up.process.pid).children() if name in name_of(c)).kill()
            up.wait_said(f"{name} was started again")
        up.wait_ready()
        assert up.execute("SELECT answer FROM kept") == 42


@pytest.fixture(scope="module")
def kept_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Up, int]]:
    """One that runs, for tests that leave it as it is; the port it was given is taken."""
    folder = tmp_path_factory.mktemp("up")
    with _holder() as port, up_in(folder, "--no-example", env={"PORT": str(port)}) as up:
        up.wait_said(READY)
        yield up, port


@pytest.mark.timeout(240)
def test_a_second_up_in_the_folder_says_who_has_it(kept_up: tuple[Up, int]) -> None:
    up, _ = kept_up
    with up_in(up.folder) as second:
        assert second.process.wait(60) == 2
        assert f"already running in {up.data} (process {up.process.pid}" in second.said
    up.wait_ready()


@pytest.mark.timeout(240)
def test_a_taken_port_is_named_and_the_next_free_one_used(kept_up: tuple[Up, int]) -> None:
    up, port = kept_up
    used = int(up.running["web_url"].rpartition(":")[2])
    assert f"Port {port} is taken; the web process uses {used}" in up.said
    assert used != port
    assert up.get("/healthz")[0] == 200


@pytest.mark.timeout(120)
def test_a_port_that_was_asked_for_and_is_taken_is_an_error(tmp_path: Path) -> None:
    with _holder() as port, up_in(tmp_path, f"--port={port}") as up:
        assert up.process.wait(60) == 2
        assert up.said.startswith(f"orchestrator: port {port} is taken: ")


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("module", "told"),
    [("shpo", "did you mean 'shop'?"), ("broken", "ModuleNotFoundError: No module named 'nc_nothing'")],
)
def test_functions_that_cannot_be_loaded_are_told_before_anything_starts(
    tmp_path: Path, module: str, told: str
) -> None:
    (tmp_path / "shop.py").touch()
    (tmp_path / "broken.py").write_text("print('hello')\nimport nc_nothing\n")
    with up_in(tmp_path, env={"ORCHESTRATOR_FUNCTIONS": module}) as up:
        assert up.process.wait(60) == 2
        (line,) = up.said.splitlines()
        assert line.startswith("orchestrator: step functions could not be loaded: ")
        assert told in line
    assert not up.data.exists()


@pytest.mark.timeout(240)
def test_given_servers_are_used_and_left_alone(
    tmp_path: Path, orchestrator_servers: ServerUrls, database_url: str, broker_url: str
) -> None:
    given = {"DATABASE_URL": database_url.replace("+psycopg2", "").replace("ql://", "://"), "REDIS_URL": broker_url}
    with up_in(tmp_path, env=given) as up:
        up.wait_said(SHOWN)
        assert up.running["database_url"] == database_url
        names = {name_of(process) for process in psutil.Process(up.process.pid).children()}
        assert not any(name.startswith(("postgres", "valkey")) for name in names)
        assert not (up.data / "postgres").exists()
        assert "a workflow that came with the package" not in up.said


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"DATABASE_URL": "postgres://127.0.0.1:1/x"}, "cannot reach Postgres"),
        ({"REDIS_URL": "redis://127.0.0.1:1/0"}, "cannot reach the broker"),
    ],
)
def test_a_given_server_that_does_not_answer_is_named(tmp_path: Path, given: dict[str, str], says: str) -> None:
    with up_in(tmp_path, env=given) as up:
        assert up.process.wait(60) == 4
        assert says in up.said


@pytest.mark.timeout(120)
def test_all_faults_of_the_environment_are_told_before_anything_starts(tmp_path: Path) -> None:
    with up_in(tmp_path, env={"DATABASE_URL": "mysql://x/y", "ORCHESTRATOR_WINDOW": "0"}) as up:
        assert up.process.wait(60) == 2
        assert "DATABASE_URL" in up.said
        assert "ORCHESTRATOR_WINDOW" in up.said
    assert not up.data.exists()


@pytest.mark.timeout(240)
def test_ctrl_c_while_starting_leaves_no_process(tmp_path: Path) -> None:
    with up_in(tmp_path, "--no-example") as up:
        up.wait_said("Starting embedded servers")
        processes = family(psutil.Process(up.process.pid))
        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(60) == 0
        wait_for(lambda: not any(map(runs, processes)), 20, what="all its processes have ended")


@pytest.mark.timeout(240)
def test_other_commands_in_the_folder_find_what_up_started(kept_up: tuple[Up, int]) -> None:
    up, _ = kept_up
    done = up.cli("db", "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert "the latest" in done.stdout


@pytest.mark.timeout(240)
def test_it_runs_for_a_user_who_is_not_root() -> None:
    user = other_user()
    if user is None:
        pytest.skip("this test starts as root, and nobody may run this Python")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        user.own(folder)
        with up_in(folder, "--no-example", user=user) as up:
            up.wait_said(READY)
            up.wait_ready()
            processes = family(psutil.Process(up.process.pid))
            assert {owner for owner in map(owner_of, processes) if owner is not None} == {user.uid}
            up.process.send_signal(signal.SIGINT)
            assert up.process.wait(60) == 0
            wait_for(lambda: not any(map(runs, processes)), 20, what="all its processes have ended")


@contextmanager
def _holder() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_host_that_installs_by_requirements_txt_gets_this_project() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["."]


def test_the_procfiles_commands_exist() -> None:
    lines = (ROOT / "Procfile").read_text().splitlines()
    processes: dict[str, str] = dict(line.split(": ", 1) for line in lines)
    assert set(processes) == {"web", "worker", "beat", "release"}
    for command in processes.values():
        program, *arguments = command.split()
        done = subprocess.run([sys.executable, *CLI, *arguments, "--help"], capture_output=True, text=True, check=False)
        assert (program, done.returncode) == ("orchestrator", 0), done.stderr
