"""What the engine does for a second at most, and leaves then to another turn, is done in one turn in these tests.

A machine that stands still for a second would else leave a step with items half made, or a schedule to the next tick,
where a test goes on with what one turn does. Tests of the bound itself set their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.services import fire_schedules
from orchestrator.services.kinds import items

_LONG = 60.0


@pytest.fixture(scope="module", autouse=True)
def in_one_turn() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for module in (items, fire_schedules):
            patched.setattr(module, "_SECONDS", _LONG)
        yield
