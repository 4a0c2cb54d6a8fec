"""Check code against a recorded history: what would become of such a run if this code were deployed now."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.context import AttemptLink
from orchestrator.domain.codes import WorkflowSpec
from orchestrator.domain.definition import Retry
from orchestrator.errors import OrchestratorError
from orchestrator.replay.context import WorkflowContext
from orchestrator.replay.here import Here
from orchestrator.replay.journal import Continued, Entry
from orchestrator.replay.memory import MemoryJournal
from orchestrator.replay.play import Raised, Returned, play
from orchestrator.replay.rehearsal.recorded import history_of

log = logging.getLogger("orchestrator.step")


class HistoryDiffers(OrchestratorError):
    """The code does not do what the history has; `str(error)` names the first difference: which entry, and where."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """How far the code came.

    `status`: `succeeded` with `output`, `failed` with `error` (`type`, `message`), `anew` with the input of
    `continue_as_new` as `output`, or `waits`: the history ends there, or the code has more to do.
    """

    status: str
    output: Any = None
    error: Mapping[str, Any] | None = None


def check(recorded: Mapping[str, Any] | str | Path, workflow: Callable[..., Any] | WorkflowSpec) -> Replayed:
    """Replay a history; see `orchestrator.testing.replay`."""
    found, what = _loaded(recorded)
    history = history_of(found, what)
    call = workflow.call if isinstance(workflow, WorkflowSpec) else workflow

    def played(ctx: WorkflowContext, input: Any) -> Any:
        ctx._here = _Recorded(ctx._program, ctx._link, ctx.log, 1 << 20)
        return call(ctx, input)

    name, journal = str(found.get("workflow") or "workflow"), MemoryJournal(history)
    turn = play(played, history, journal, _Unheard(), log, workflow=name, max_bytes=1 << 62)
    match turn:
        case Raised(error, _):
            return _failed(found, what, error)
        case Returned(value, _):
            return Replayed("succeeded", value)
        case Continued() as continued:
            return Replayed("anew", continued.input)
    return Replayed("waits")


def _failed(found: Mapping[str, Any], what: str, error: Mapping[str, Any]) -> Replayed:
    if error["type"] == "CodeChanged":
        raise HistoryDiffers(f"{what}: {error['message']}")
    if found.get("status") == "succeeded":
        raise HistoryDiffers(f"{what}: the run succeeded, the code raises {error['type']}: {error['message']}")
    return Replayed("failed", None, {"type": error["type"], "message": error["message"]})


def _loaded(recorded: Mapping[str, Any] | str | Path) -> tuple[Mapping[str, Any], str]:
    """The document, and what to call it."""
    if isinstance(recorded, Mapping):
        return recorded, f"run {recorded.get('run_id', '?')}"
    path = Path(recorded)
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise OrchestratorError(f"{path.name} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise OrchestratorError(f"{path.name} is no recorded history: make one with orchestrator journal RUN --json")
    return found, path.name


class _Recorded(Here):
    """A step that the history does not have is not done: there the history ends."""

    def _perform(
        self, entry: Entry, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], retry: Retry
    ) -> Entry:
        raise self._program.suspended(())

    def seconds(self) -> float:
        return self._program.history.now


class _Unheard(AttemptLink):
    def report(self, progress: Any | None) -> bool:
        return False
