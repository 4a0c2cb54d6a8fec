"""What a line of a worker's log is about: the attempt that runs where it is made, else the worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.domain.items import index_of, is_item
from orchestrator.errors import OrchestratorError
from orchestrator.services.app_of import app_of
from orchestrator.services.claim import Prepared
from orchestrator.services.engine import Engine
from workers.logs import current


@dataclass(slots=True)
class _Process:
    """What every line of this process is about; whether lines name the app, which is to be asked for."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    apps: bool = False


_process = _Process()


def this_is(**facts: Any) -> None:
    """What every line of this process is about from here on."""
    _process.facts = facts


def name_apps() -> None:
    """From here on lines of attempts name their app."""
    _process.apps = True


def facts() -> Mapping[str, Any]:
    """What a line made here is about."""
    capture = current()
    attempt = None if capture is None else capture.subject
    return _process.facts if attempt is None else {**attempt.facts(), **_process.facts}


@dataclass(slots=True)
class Subject:
    """An attempt, for the lines that come from it: looked up with the first of them."""

    engine: Engine
    prepared: Prepared
    _facts: dict[str, Any] | None = None

    def facts(self) -> Mapping[str, Any]:
        if self._facts is None:
            self._facts = {name: value for name, value in self._all().items() if value is not None}
        return self._facts

    def _all(self) -> dict[str, Any]:
        claimed, plan = self.prepared.claimed, self.engine.plans.at_hand(self.prepared.claimed.revision_id)
        return {
            "app": self._app() if _process.apps else None,
            "workflow": plan.definition.name if plan is not None else None,
            "run_id": claimed.run_id,
            "step": self.prepared.step.name,
            "step_id": claimed.step_id,
            "item": index_of(claimed.position) if is_item(claimed.position) else None,
            "attempt": claimed.attempt,
        }

    def _app(self) -> str | None:
        claimed = self.prepared.claimed
        try:
            return app_of(self.engine, claimed.revision_id, claimed.run_id)
        except OrchestratorError:  # Postgres is away, and the line is to be told all the same
            return None
