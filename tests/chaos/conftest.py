"""Long tests are for `make chaos` and `make soak`."""

from __future__ import annotations

import os
import random

import pytest

SECONDS = float(os.environ.get("CHAOS_SECONDS") or (600 if os.environ.get("ORCHESTRATOR_TEST_SOAK") else 0))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = [item for item in items if item.get_closest_marker("chaos")]
    if long and not SECONDS:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def new_seed() -> int:
    """That of CHAOS_SEED, or a fresh one; every test prints its own."""
    return int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(10**6))
