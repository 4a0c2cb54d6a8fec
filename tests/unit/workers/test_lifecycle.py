"""What a process of a pool does as it begins."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from workers.lifecycle import _end_without

_ORPHAN = """
import os
from workers.lifecycle import _end_without
parent = os.getpid()
if os.fork() == 0:
    while os.getppid() == parent:
        pass
    _end_without(parent)
    print("it lives")
"""


def test_a_pool_process_whose_parent_died_before_it_began_ends() -> None:
    """Its output ends with it."""
    orphan = subprocess.run([sys.executable, "-c", _ORPHAN], capture_output=True, text=True, timeout=60, check=False)
    assert (orphan.stdout, orphan.stderr) == ("", "")


def test_a_pool_process_whose_parent_lives_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "_exit", lambda code: pytest.fail("it has ended"))
    _end_without(os.getppid())
