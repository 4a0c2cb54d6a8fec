"""What a process says of itself."""

from __future__ import annotations

import importlib.metadata

import pytest

from workers.announce import this_process


def test_the_version_is_that_of_the_running_code_whatever_is_installed_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = this_process("me", "worker").version

    def gone(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", gone)
    assert this_process("me", "worker").version == version
