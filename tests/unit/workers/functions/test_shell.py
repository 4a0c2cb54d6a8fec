"""shell.run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.errors import Fail
from tests.processes import lives
from tests.support import wait_for
from workers.functions.shell import CommandFailed, CommandTimeout, run


@pytest.fixture(autouse=True)
def _enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATOR_ENABLE_SHELL", "1")


def test_it_is_off_unless_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORCHESTRATOR_ENABLE_SHELL")
    with pytest.raises(Fail, match="ORCHESTRATOR_ENABLE_SHELL"):
        run(["true"])


def test_outputs_and_exit_code_are_given() -> None:
    assert run(["sh", "-c", "echo out; echo err >&2"]) == {"exit_code": 0, "stdout": "out\n", "stderr": "err\n"}


def test_arguments_are_not_read_by_a_shell() -> None:
    assert run(["echo", "$HOME; rm -rf"])["stdout"] == "$HOME; rm -rf\n"
    with pytest.raises(Fail, match="list"):
        run("echo hello")


def test_input_is_given_to_the_program_also_when_it_is_large() -> None:
    text = "line\n" * 100_000
    assert run(["wc", "-l"], input=text)["stdout"].strip() == "100000"
    assert run(["cat"])["stdout"] == ""


def test_an_exit_code_that_is_not_expected_fails_and_shows_the_end_of_stderr() -> None:
    with pytest.raises(CommandFailed, match="exit code 3: gone"):
        run(["sh", "-c", "echo gone >&2; exit 3"])
    assert run(["sh", "-c", "exit 3"], expect=[0, 3])["exit_code"] == 3


def test_a_program_that_is_not_there_fails() -> None:
    with pytest.raises(FileNotFoundError):
        run(["no-such-program-of-ours"])


def test_output_over_the_limit_is_cut_and_the_program_still_ends() -> None:
    told = run(["sh", "-c", "yes | head -n 1000000; yes | head -n 1000000 >&2"], max_bytes=100)
    assert told["stdout"] == told["stderr"] == "y\n" * 50


def test_what_runs_too_long_is_killed_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"

    def told(seconds: float) -> str:
        with pytest.raises(CommandTimeout, match=f"longer than {seconds:g} s"):
            run(["sh", "-c", f"sleep 300 & echo $! > {child}; wait"], timeout=seconds)
        return child.read_text() if child.exists() else ""

    pid = int(told(0.5) or told(5) or told(30))  # it may take longer to begin
    wait_for(lambda: not lives(pid), what="the child is killed too")


def test_the_programs_environment_holds_no_setting_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:hunter2@127.0.0.1/x")
    monkeypatch.setenv("ORCHESTRATOR_SECRET_KEY_OF_BANK", "hunter2")
    told = run(["env"], env={"MORE": "yes"})["stdout"]
    assert "MORE=yes" in told
    assert "PATH=" in told
    assert "hunter2" not in told
    assert "ORCHESTRATOR" not in told


def test_it_runs_where_it_is_told(tmp_path: Path) -> None:
    assert run(["pwd"], cwd=str(tmp_path))["stdout"].strip() == os.path.realpath(tmp_path)


def test_output_postgres_cannot_hold_is_made_storable() -> None:
    assert run(["printf", r"a\000b\377c"])["stdout"] == "a\ufffdb\ufffdc"
