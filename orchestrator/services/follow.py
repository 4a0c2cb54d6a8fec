"""Follow a run: what has changed since the last look, at a cost that does not grow with inputs and outputs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from orchestrator.services.tail import Tail
from orchestrator.store.db import Database
from orchestrator.store.reads import (
    RunNow,
    StepBrief,
    briefs_at,
    list_events,
    load_secrets,
    run_now,
    step_counts,
    step_marks,
)
from orchestrator.store.reads.page import iso

# A step's times are those at which transactions began: a change may show as late as its transaction took.
_SLACK = timedelta(seconds=10)
# Acts that take steps back to where they were before they began.
_BACK = frozenset({"run.retried", "step.marked"})
_CURSOR = re.compile(r"(\d{1,18})\.(\d{1,15})(\.end)?", re.ASCII)
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a run was followed: events up to an id, steps up to a moment (milliseconds), and whether to its end."""

    event: int
    at: int
    end: bool = False

    @classmethod
    def read(cls, text: str) -> Cursor | None:
        """None for a text that is no cursor."""
        found = _CURSOR.fullmatch(text)
        return None if found is None else cls(int(found[1]), int(found[2]), found[3] is not None)

    def __str__(self) -> str:
        return f"{self.event}.{self.at}" + (".end" if self.end else "")


@dataclass(frozen=True, slots=True)
class Change:
    """`kind`: `run`, `step`, `history` (an event) or, last, `end`; `data` is for people and programs."""

    kind: str
    data: dict[str, Any]


class Follow:
    """Looks at a run again and again. Nothing is lost from one look to the next, nor, with `since`, from where an
    earlier one was left; some changes may then be told twice."""

    def __init__(
        self, db: Database, run_id: str, since: Cursor | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._db, self._run_id, self._since = db, run_id, since
        self._tail = Tail(self._events, clock, since.event if since is not None else 0)
        self._conn: Connection | None = None
        self._marks: dict[int, tuple[Any, ...]] | None = None
        self._run: tuple[Any, ...] | None = None
        self.cursor = since or Cursor(0, 0)

    def look(self) -> list[Change]:
        """What is new; the `end` of a run that is over comes last. Raises `NotFound`, `Unreachable`."""
        with self._db.transaction() as conn:
            self._conn = conn
            try:
                return list(self._changes(conn))
            finally:
                self._conn = None

    def _changes(self, conn: Connection) -> Iterator[Change]:
        run, secrets = run_now(conn, self._run_id), load_secrets(conn, self._run_id)
        history = list(self._tail.read())
        yield from (Change("history", event) for event in history)
        steps = self._steps(conn, any(event["kind"] in _BACK for event in history), run.now)
        for step in steps:
            yield Change("step", secrets.show(step_told(step, run)))
        state = (run.status, run.closing, run.pause_reason)
        if state != self._run or steps:
            self._run = state
            yield Change("run", secrets.show(run_told(run, step_counts(conn, self._run_id))))
        self.cursor = Cursor(self._tail.floor, int(run.now.timestamp() * 1000), run.status.terminal)
        if run.status.terminal:
            yield Change("end", {"run_id": run.id, "status": run.status})

    def _steps(self, conn: Connection, back: bool, now: datetime) -> Sequence[StepBrief]:
        """Steps that changed since the last look; at the first one those that were begun."""
        marks, before = step_marks(conn, self._run_id), self._marks
        self._marks = marks
        if before is None:
            begun = [place for place, mark in marks.items() if mark[0] != "pending" or back]
            found = briefs_at(conn, self._run_id, begun)
            return found if back else [step for step in found if self._is_new(step)]
        return briefs_at(conn, self._run_id, [p for p, mark in marks.items() if before.get(p, _PENDING) != mark])

    def _is_new(self, step: StepBrief) -> bool:
        if self._since is None or step.finished_at is None:
            return True
        return (step.finished_at + _SLACK).timestamp() * 1000 >= self._since.at

    def _events(self, after: int) -> Any:
        assert self._conn is not None
        return list_events(self._conn, self._run_id, after, _PAGE)


_PENDING = ("pending", 0, None, None)


def step_told(step: StepBrief, run: RunNow) -> dict[str, Any]:
    """A step without its input and output."""
    error = {"type": step.error_type, "message": step.error_message} if step.error_type else None
    items = {"total": step.items_total, "ended": step.items_ended, "failed": step.items_failed}
    return {
        "run_id": run.id,
        "step": step.name,
        "status": step.status,
        "reason": step.reason,
        "attempt": step.attempt,
        "max_attempts": step.max_attempts,
        "started_at": iso(step.started_at),
        "finished_at": iso(step.finished_at),
        "next_attempt_at": iso(step.next_attempt_at),
        "progress": step.progress,
        "error": error,
        "items": items if step.items_total is not None else None,
        "child_run_id": str(step.child["run_id"]) if step.child else None,
    }


def run_told(run: RunNow, counts: dict[str, int]) -> dict[str, Any]:
    """A run without its input and output."""
    return {
        "run_id": run.id,
        "workflow": run.workflow,
        "status": run.status,
        "closing": run.closing,
        "pause_reason": run.pause_reason,
        "error": run.error,
        "counts": counts,
        "at": iso(run.now),
    }
