from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.data_folder import DataFolder, Running, UnusableFolder, default_folder
from orchestrator.errors import Conflict

RUNNING = Running(4711, "postgresql+psycopg2://u:hidden@h/d", "redis://h/0", "http://127.0.0.1:8000")


def test_a_second_holder_is_told_who_has_the_folder(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    with folder.lock():
        folder.publish(RUNNING)
        with pytest.raises(Conflict, match="process 4711"), DataFolder(tmp_path / "data").lock():
            pass


def test_the_address_is_known_only_while_the_folder_is_held(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    assert folder.running() is None
    with folder.lock():
        assert folder.running() is None
        folder.publish(RUNNING)
        assert folder.running() == RUNNING
    assert folder.running() is None


def test_a_killed_holder_leaves_neither_lock_nor_address(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from orchestrator.data_folder import DataFolder, Running\n"
        "folder = DataFolder(Path(sys.argv[1]))\n"
        "with folder.lock():\n"
        "    folder.publish(Running(1, 'postgresql://h/d', 'redis://h', 'http://h')); os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    folder = DataFolder(tmp_path)
    assert (tmp_path / "running.json").exists()
    assert folder.running() is None
    with folder.lock():
        pass


def test_what_it_writes_is_for_its_user_alone(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    with folder.lock():
        folder.publish(RUNNING)
        assert (tmp_path / "running.json").stat().st_mode & 0o077 == 0
    assert "hidden" not in repr(RUNNING)


def test_a_damaged_address_file_counts_as_none(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    with folder.lock():
        folder.write_private("running.json", "{")
        assert folder.running() is None


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(UnusableFolder, match="data folder"), DataFolder(tmp_path / "data").lock():
        pass


def test_the_folder_is_kept_out_of_git(tmp_path: Path) -> None:
    DataFolder(tmp_path / "data").create()
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"


def test_a_checkout_has_its_folder_inside(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    assert default_folder(tmp_path) == tmp_path / ".orchestrator"


def test_in_a_folder_below_it_is_the_nearest_one_above(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / ".orchestrator").mkdir()
    assert default_folder(below) == tmp_path / ".orchestrator"
    (tmp_path / "a" / ".orchestrator").mkdir()
    assert default_folder(below) == tmp_path / "a" / ".orchestrator"
    (below / "pyproject.toml").touch()
    assert default_folder(below) == tmp_path / "a" / ".orchestrator"


def test_elsewhere_the_folder_is_the_users(tmp_path: Path) -> None:
    assert os.fspath(tmp_path) not in os.fspath(default_folder(tmp_path))
