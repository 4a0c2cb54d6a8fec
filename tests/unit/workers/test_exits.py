"""How a pool's processes died, as its worker tells it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workers import exits
from workers.exits import Exits


class Process:
    """One of a pool, dead; its exit code is written down a few looks later."""

    def __init__(self, code: int | None, looks: int = 0) -> None:
        self.pid, self._code, self._looks = 11, code, looks

    @property
    def exitcode(self) -> int | None:
        self._looks -= 1
        return None if self._looks >= 0 else self._code


def exits_of(*processes: Process) -> Exits:
    made = Exits(SimpleNamespace(_pool=SimpleNamespace(_pool=list(processes))))
    made.look()
    return made


@pytest.mark.parametrize(
    ("code", "told"), [(-9, "killed by SIGKILL"), (3, "exit code 3"), (-99, "killed by signal 99")]
)
def test_an_end_is_told_by_its_code(code: int, told: str) -> None:
    assert exits_of(Process(code)).how(11) == told


def test_a_process_that_the_pool_is_just_fetching_is_told_by_its_code_too() -> None:
    """Two threads that ask the kernel: the second is told that there is no such child, until the first has noted it."""
    assert exits_of(Process(-9, looks=3)).how(11) == "killed by SIGKILL"


def test_of_one_whose_end_nobody_saw_it_is_said_that_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exits, "_FETCHED_SECONDS", 0.01)
    assert exits_of(Process(None)).how(11) == "it is gone"
    assert exits_of().how(11) == "it is gone"
