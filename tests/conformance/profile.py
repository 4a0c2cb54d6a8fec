"""How many examples property tests try."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

_SOAK = int(os.environ.get("ORCHESTRATOR_TEST_SOAK", "0"))


def examples(count: int) -> Callable[[Any], Any]:
    """Half of `count` examples, the same ones every time; with ORCHESTRATOR_TEST_SOAK=N fresh ones, N times `count`.

    A failure prints the smallest example and a line that repeats it.
    """
    return settings(
        max_examples=count * _SOAK if _SOAK else (count + 1) // 2,
        derandomize=not _SOAK,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )
