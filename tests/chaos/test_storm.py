"""Runs of every kind go on while everything that can be broken is; nothing is lost.

`make chaos` lets it go on for minutes with a new seed each time, which is printed; CHAOS_SEED=N repeats the order of
the faults and the workflows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.conftest import SECONDS, new_seed
from tests.chaos.faults.every import FAULTS
from tests.chaos.run import one_by_one, storm

_USUAL_SEED = 4
_SHORT = 0.25  # of the usual length of a fault


@pytest.mark.timeout(300)
def test_nothing_is_lost_whatever_is_destroyed(tmp_path: Path) -> None:
    assert storm(tmp_path, _USUAL_SEED, FAULTS, 24, pace=_SHORT) == []


@pytest.mark.chaos
@pytest.mark.timeout(1200)
def test_nothing_is_lost_when_faults_strike_one_by_one(tmp_path: Path) -> None:
    assert one_by_one(tmp_path, new_seed(), FAULTS, pace=0.5) == []


@pytest.mark.chaos
@pytest.mark.timeout(3600)
def test_nothing_is_lost_in_a_long_storm(tmp_path: Path) -> None:
    assert storm(tmp_path, new_seed(), FAULTS, SECONDS) == []
