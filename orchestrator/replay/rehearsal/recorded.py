"""A run's journal as JSON: what is written to a file, and read again to check new code against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.errors import OrchestratorError
from orchestrator.replay.journal import WAITS, End, Entry, History, Verb

INPUT = 0  # the position of what `continue_as_new` was given


def entry_json(entry: Entry, end: End | None, at: str | None, ended_at: str | None) -> dict[str, Any]:
    """An entry as every interface shows it."""
    return {
        "position": entry.position,
        "verb": entry.verb.value,
        "name": entry.name,
        "key": entry.key,
        "line": entry.line or None,
        "status": None if end is None else end.status,
        "output": None if end is None else end.value,
        "error": None if end is None else end.error,
        "at": at,
        "ended_at": ended_at,
    }


def history_of(recorded: Any, what: str = "a history") -> History:
    """The history to replay. Raises `OrchestratorError` for what is none."""
    try:
        history = History(recorded["run_id"], recorded["input"], recorded.get("generation") or 0)
        for entry, end in _entries(recorded["entries"]):
            history.add(entry)
            if end is not None:
                history.ends[entry.position] = end
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        told = f"{what} is no recorded history ({type(error).__name__}: {error})"
        raise OrchestratorError(f"{told}: make one with orchestrator journal RUN --json") from error
    history.now = float(max((e.value for p, e in history.ends.items() if _is_moment(history, p)), default=0.0))
    return history


def _is_moment(history: History, position: int) -> bool:
    return history.entries[position].verb is Verb.NOW


def _entries(found: list[Mapping[str, Any]]) -> Iterator[tuple[Entry, End | None]]:
    for one in found:
        if one["verb"] == Verb.STEP and one["status"] is None:  # being tried again: not written down yet
            continue
        end = None if one["status"] is None else End(one["status"], one["output"], one["error"])
        verb, here = Verb(one["verb"]), None if one["verb"] in WAITS else end
        yield Entry(one["position"], verb, one["name"], one["key"], one.get("line") or "", here), end
