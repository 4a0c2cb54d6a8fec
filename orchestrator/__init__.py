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

__all__ = ["Fail", "Orchestrator", "RetryLater", "RetryPolicy", "RunHandle", "Skip", "function"]

# A module of step functions imports this package for `function` and needs no database driver for that.
_FROM_CLIENT = ("Orchestrator", "RunHandle")


def __getattr__(name: str) -> Any:
    if name in _FROM_CLIENT:
        return getattr(importlib.import_module("orchestrator.client"), name)
    raise AttributeError(f"module 'orchestrator' has no attribute '{name}'")
