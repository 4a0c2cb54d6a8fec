"""A coordinator tells of runs that have ended, and of attempts that no worker tells of: these live in no process."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from opentelemetry.trace import Link, Span, SpanContext

from orchestrator.domain.tracing import attempt_span, run_span
from orchestrator.errors import Troubled, Unreachable
from orchestrator.store.db import Database
from orchestrator.store.reads.secrets import RunSecrets, load_secrets
from orchestrator.store.traces import load_untold, take_ended
from orchestrator.tracing.spans import Otel, Trace, fail

log = logging.getLogger(__name__)
_FINE = ("succeeded", "skipped", "canceled")


class Runs:
    """What one coordinator tells; of several each end is told by one."""

    def __init__(self, otel: Otel, db: Database) -> None:
        self._otel, self._db = otel, db
        self._ended: deque[Any] = deque()  # taken, and to be told

    def tell(self) -> int:
        """Tell what has ended since the last look, of whichever coordinator; how many. Raises `Unreachable`: the rest
        is told with the next look."""
        with self._db.transaction() as conn:
            self._ended.extend(take_ended(conn))
        told = 0
        while self._ended:
            self._tell_one(self._ended[0])
            self._ended.popleft()
            told += 1
        return told

    def flush(self) -> None:
        self._otel.flush()

    def _tell_one(self, row: Any) -> None:
        try:
            self._tell(row)
        except Exception as error:  # noqa: BLE001 - a run that cannot be told keeps no other from it
            if isinstance(error, Unreachable) and not isinstance(error, Troubled):
                raise
            log.exception("run %s could not be told as a trace", row.run_id, extra={"run_id": str(row.run_id)})

    def _tell(self, row: Any) -> None:
        of = self._otel.trace(str(row.root_id), row.traceparent)
        if not of.sampled:
            return
        with self._db.transaction() as conn:
            attempts = load_untold(conn, row.run_id, row.ended_before)
            failed = row.error or any(attempt.error for attempt in attempts)
            secrets = load_secrets(conn, row.run_id) if failed else RunSecrets()
        for attempt in attempts:
            self._tell_attempt(of, row, attempt, secrets)
        status = row.kind.removeprefix("run.")
        span = self._start(of, row, status)
        if row.error and status == "failed":
            fail(span, row.error.get("type", ""), secrets.show(row.error.get("message", "")), None, _nanos(row.at))
        span.end(_nanos(row.at))

    def _start(self, of: Trace, row: Any, status: str) -> Span:
        """A run that had ended before has a span of its own below its first for what came since."""
        again = row.life > 0
        given = {
            "orchestrator.run_id": str(row.run_id),
            "orchestrator.workflow": row.workflow,
            "orchestrator.revision": row.revision,
            "orchestrator.app": row.app,
            "orchestrator.status": status,
            "orchestrator.waited_seconds": _between(row.created_at, row.started_at),
        }
        return self._otel.start(
            of,
            run_span(str(row.run_id), row.life),
            f"run {row.workflow}{' again' if again else ''}",
            of.run(str(row.run_id)) if again else self._parent(of, row),
            start_time=_nanos(row.ended_before if again else row.created_at),
            attributes=given,
            links=self._links(row),
        )

    def _parent(self, of: Trace, row: Any) -> SpanContext | None:
        """The attempt that has started it, or the span of its caller."""
        if row.parent_step_id is not None and row.parent_attempt is not None:
            return of.span(attempt_span(str(row.parent_step_id), row.parent_attempt))
        return of.caller

    def _links(self, row: Any) -> Sequence[Link]:
        """To the run that it repeats."""
        if row.origin_root_id is None:
            return ()
        of = self._otel.trace(str(row.origin_root_id), row.origin_traceparent)
        return [Link(of.run(str(row.rerun_of_id)), {"orchestrator.rerun_of": str(row.rerun_of_id)})]

    def _tell_attempt(self, of: Trace, run: Any, row: Any, secrets: RunSecrets) -> None:
        given: dict[str, Any] = {
            "orchestrator.run_id": str(run.run_id),
            "orchestrator.workflow": run.workflow,
            "orchestrator.app": run.app,
            "orchestrator.step": row.name,
            "orchestrator.step_id": str(row.id),
            "orchestrator.attempt": row.number,
            "orchestrator.outcome": row.outcome,
        }
        given |= {f"orchestrator.{name}": value for name, value in _known(row).items()}
        fan = None if row.fan_id is None else of.span(attempt_span(str(row.fan_id), row.fan_attempt))
        span_id, parent = attempt_span(str(row.id), row.number), fan or of.run(str(run.run_id))
        started = _nanos(row.started_at or row.finished_at)
        span = self._otel.start(of, span_id, f"step {row.name}", parent, start_time=started, attributes=given)
        if row.outcome not in _FINE:
            error = row.error or {}
            message = secrets.show(error.get("message", ""))
            fail(span, error.get("type", row.outcome), message, None, _nanos(row.finished_at))
        span.end(_nanos(row.finished_at))


def _known(row: Any) -> Mapping[str, Any]:
    told = {"item": row.item_index, "queue": row.queue, "function": row.function, "worker": row.worker_id}
    return {name: str(value) if name == "worker" else value for name, value in told.items() if value is not None}


def _nanos(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1000


def _between(first: datetime, then: datetime | None) -> float:
    return 0.0 if then is None else max(0.0, (then - first).total_seconds())
