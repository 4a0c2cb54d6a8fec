"""The way to tracing, which is loaded where the settings ask for it only: it takes packages that need not be there."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from typing import Any, Protocol

from orchestrator.config import Config
from orchestrator.domain.definition import Step
from orchestrator.domain.outcome import Outcome
from orchestrator.services.claim import Claimed, Prepared
from orchestrator.store.db import Database

log = logging.getLogger(__name__)


class AttemptSpan(Protocol):
    """Of an attempt: current between `enter` and `leave`, told with `finish`."""

    def enter(self) -> None: ...

    def leave(self) -> None:
        """Does no harm twice."""

    def finish(self, outcome: Outcome) -> None: ...


class Attempts(Protocol):
    """What a process that calls functions tells (attempts.py)."""

    def attempt(self, prepared: Prepared) -> AttemptSpan: ...

    def refused(self, claimed: Claimed, step: Step, outcome: Outcome) -> None: ...

    def flush(self) -> None: ...


class Runs(Protocol):
    """What a coordinator tells (runs.py)."""

    def tell(self) -> int: ...

    def flush(self) -> None: ...


def load_attempts(config: Config, db: Database, worker_id: str, apart: Callable[[], None]) -> Attempts | None:
    """None where the settings do not ask for traces; raises `InvalidConfig` for an exporter that is not installed.

    `apart` is called in threads that send: what they log is no attempt's.
    """
    module = _module(config)
    made: Attempts | None = None if module is None else module.make_attempts(config, db, worker_id, apart)
    return made


def load_runs(config: Config, db: Database) -> Runs | None:
    """The same for a coordinator."""
    module = _module(config)
    made: Runs | None = None if module is None else module.make_runs(config, db)
    return made


def _module(config: Config) -> Any:
    if not config.traces.exporters:
        return None
    try:
        return importlib.import_module("orchestrator.tracing.make")
    except ModuleNotFoundError as error:  # the variables may be the machine's, and not for us
        log.warning("OTEL_* variables ask for traces, and there are none: %s (pip install 'orchestrator[otel]')", error)
        return None
