"""Durable workflows on Python, Celery and Postgres."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from orchestrator.domain.definition import Retry as RetryPolicy
from orchestrator.errors import Fail, RetryLater, Skip
from orchestrator.functions import function

if TYPE_CHECKING:
    from orchestrator.client import Orchestrator as Orchestrator
    from orchestrator.client import RunHandle as RunHandle
    from orchestrator.installed import install as install

__all__ = ["Fail", "Orchestrator", "RetryLater", "RetryPolicy", "RunHandle", "Skip", "function", "install"]

# A module of step functions imports this package for `function` and needs no database driver for that.
_LATER = {
    "Orchestrator": "orchestrator.client",
    "RunHandle": "orchestrator.client",
    "install": "orchestrator.installed",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'orchestrator' has no attribute '{name}'")
