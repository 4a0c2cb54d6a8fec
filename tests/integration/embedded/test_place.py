from __future__ import annotations

import shutil
import tempfile
from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from orchestrator.embedded import place

Usage = namedtuple("Usage", "free")
Memory = namedtuple("Memory", "available")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Its memory filesystem; 8 GiB are free everywhere, and the temporary folder is the usual one."""
    monkeypatch.setattr(place, "_MEMORY", tmp_path)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/tmp")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(8 << 30))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(8 << 30))
    return tmp_path


def test_servers_for_tests_are_in_memory_where_there_is_room(machine: Path) -> None:
    assert place.folder_for_tests() == str(machine)


def test_a_small_memory_filesystem_is_not_used(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(64 << 20))
    assert place.folder_for_tests() == "/tmp"


def test_memory_that_others_need_is_not_used(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(2 << 30))
    assert place.folder_for_tests() == "/tmp"


def test_a_temporary_folder_that_was_asked_for_is_used(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/elsewhere")
    assert place.folder_for_tests() == "/elsewhere"


def test_where_there_is_no_memory_filesystem_the_usual_folder_is_used(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "_MEMORY", machine / "missing")
    assert place.folder_for_tests() == "/tmp"
