"""Durable workflows on Python, Celery and Postgres."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from orchestrator.domain.definition import Retry as RetryPolicy
from orchestrator.errors import ChildCanceled, ChildFailed, Fail, RetryLater, Skip, StepFailed, WaitTimeout
from orchestrator.functions import function, workflow

if TYPE_CHECKING:
    from orchestrator.client import Orchestrator as Orchestrator
    from orchestrator.client import RunHandle as RunHandle
    from orchestrator.installed import install as install

__all__ = [
    "ChildCanceled",
    "ChildFailed",
    "Fail",
    "Orchestrator",
    "RetryLater",
    "RetryPolicy",
    "RunHandle",
    "Skip",
    "StepFailed",
    "WaitTimeout",
    "function",
    "install",
    "workflow",
]

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
