"""Helpers for tests."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

Value = TypeVar("Value")
_POLL_SECONDS = 0.02


def wait_for(condition: Callable[[], Value], deadline: float = 30, *, what: str | None = None) -> Value:
    """Wait until `condition()` is true and return what it gave; fail after `deadline` seconds, naming `what`."""
    ends = time.monotonic() + deadline
    while not (value := condition()):
        if time.monotonic() > ends:
            raise AssertionError(f"{what or getattr(condition, '__name__', condition)}: not so after {deadline:g} s")
        time.sleep(_POLL_SECONDS)
    return value


def is_soak() -> bool:
    """Whether hunts are long, and draw fresh examples: ORCHESTRATOR_TEST_SOAK is set (`make soak`)."""
    return bool(os.environ.get("ORCHESTRATOR_TEST_SOAK"))


def soaked(usual: int, long: int) -> int:
    """How many tries a hunt makes: `usual`, or `long` in a soak."""
    return long if is_soak() else usual


def program(name: str, package: str | None = None) -> str:
    """Where a program of Debian's package (called as the program, if not said) is. Its tests are skipped where it is
    missing; in CI that is a failure."""
    path = shutil.which(name)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed: apt-get install {package or name}")
    return path
