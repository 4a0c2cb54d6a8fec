"""A worker tells the spans of the functions it calls; to the code inside they are the current one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext

from orchestrator.domain.definition import Step, StepKind
from orchestrator.domain.items import index_of, is_item
from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.domain.tracing import attempt_span
from orchestrator.domain.values import describe_exception
from orchestrator.errors import OrchestratorError
from orchestrator.services.claim import Claimed, Prepared
from orchestrator.services.memory import Memory
from orchestrator.store.db import Database
from orchestrator.store.reads.secrets import RunSecrets, load_secrets
from orchestrator.store.traces import Place, fan_of, place_of
from orchestrator.tracing.spans import Otel, Trace, fail

_FINE = (OutcomeKind.SUCCEEDED, OutcomeKind.SKIPPED, OutcomeKind.SUSPENDED)
Hidden = Callable[[], RunSecrets | None]  # the secrets of the run; None while nobody can tell them


class AttemptSpan:
    """Current between `enter` and `leave`, told with `finish`."""

    def __init__(self, make: Callable[[], Span], hidden: Hidden = RunSecrets) -> None:
        self._make, self._hidden = make, hidden
        self._span: Span | None = None
        self._token: Any = None
        self._ended: int | None = None

    def enter(self) -> None:
        self._span = self._make()
        self._token = context.attach(trace.set_span_in_context(self._span))

    def leave(self) -> None:
        """Does no harm twice."""
        token, self._token = self._token, None
        if token is not None:
            self._ended = time.time_ns()
            context.detach(token)

    def finish(self, outcome: Outcome) -> None:
        if self._span is not None:
            told(self._span, outcome, self._ended, self._hidden)


def told(span: Span, outcome: Outcome, ended: int | None, hidden: Hidden) -> None:
    """End the span of an attempt that has come to this."""
    span.set_attribute("orchestrator.outcome", outcome.kind.value)
    if outcome.kind not in _FINE and span.is_recording():
        fail(span, *_words(outcome, hidden), ended)
    span.end(ended)


def _words(outcome: Outcome, hidden: Hidden) -> tuple[str, str, str | None]:
    """Type, message and traceback of the error, without secret fields that it echoes."""
    error = outcome.error
    if error is None:
        return outcome.kind.value, "", None
    secrets = hidden()
    if secrets is None:
        return error.type, "", None
    return error.type, secrets.show(error.message), secrets.show(error.traceback)


class Attempts:
    """What one process tells; a run it cannot look up, Postgres being away, has no span of it."""

    def __init__(self, otel: Otel, db: Database, worker_id: str) -> None:
        self._otel, self._db, self._worker_id = otel, db, worker_id
        self._places: Memory[str, tuple[Place, Trace]] = Memory(1000)

    def attempt(self, prepared: Prepared) -> AttemptSpan:
        """The span of a function that is about to be called. Turns of a workflow's function have none of their own:
        each would tell anew of what it replays; what they call here and now is below the run's."""
        claimed = prepared.claimed
        place, of = self._place(claimed.run_id)
        if of is None:
            return AttemptSpan(lambda: NonRecordingSpan(trace.INVALID_SPAN_CONTEXT))
        if prepared.step.kind is StepKind.CODE:
            return AttemptSpan(lambda: NonRecordingSpan(of.run(claimed.run_id)))
        parent = self._parent(claimed, of)
        hidden = partial(self._secrets, claimed.run_id)
        return AttemptSpan(lambda: self._start(claimed, prepared.step, place, of, parent), hidden)

    def refused(self, claimed: Claimed, step: Step, outcome: Outcome) -> None:
        """An attempt that came to its end before its function was called."""
        place, of = self._place(claimed.run_id)
        if of is not None:
            span = self._start(claimed, step, place, of, self._parent(claimed, of))
            told(span, outcome, None, partial(self._secrets, claimed.run_id))

    def flush(self) -> None:
        self._otel.flush()

    @contextmanager
    def here(self, run_id: str, key: str, number: int) -> Iterator[None]:
        """A step that a workflow's function does itself: told once, for it is done once."""
        given: dict[str, str | int] = {"orchestrator.step": key, "orchestrator.attempt": number}
        tracer = self._otel.tracer
        with tracer.start_as_current_span(  # the exception would be told as it is
            f"step {key}", attributes=given, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as error:
                if span.is_recording():
                    found = describe_exception(error)
                    info = ErrorInfo(found["type"], found["message"], found.get("traceback"))
                    fail(span, *_words(Outcome.failed(info), partial(self._secrets, run_id)))
                raise

    def _secrets(self, run_id: str) -> RunSecrets | None:
        try:
            with self._db.transaction() as conn:
                return load_secrets(conn, run_id)
        except OrchestratorError:
            return None

    def _place(self, run_id: str) -> tuple[Place | None, Trace | None]:
        known = self._places.get(run_id)
        if known is None:
            try:
                place = place_of(self._db, run_id)
            except OrchestratorError:
                return None, None
            if place is None:
                return None, None
            known = place, self._otel.trace(place.root_id, place.traceparent)
            self._places.put(run_id, known)
        return known

    def _parent(self, claimed: Claimed, of: Trace) -> SpanContext:
        """The run's, or that of the step whose item this is."""
        if is_item(claimed.position) and of.sampled:
            try:
                fan = fan_of(self._db, claimed.step_id)
            except OrchestratorError:
                fan = None
            if fan is not None:
                return of.span(attempt_span(*fan))
        return of.run(claimed.run_id)

    def _start(self, claimed: Claimed, step: Step, place: Place | None, of: Trace, parent: SpanContext) -> Span:
        given: dict[str, Any] = {
            "orchestrator.run_id": claimed.run_id,
            "orchestrator.workflow": place.workflow if place else "",
            "orchestrator.app": place.app if place else "",
            "orchestrator.step": step.name,
            "orchestrator.step_id": claimed.step_id,
            "orchestrator.attempt": claimed.attempt,
            "orchestrator.function": step.function or "",
            "orchestrator.queue": claimed.queue,
            "orchestrator.worker": self._worker_id,
            "orchestrator.waited_seconds": (claimed.waited or 0.0) + (claimed.fetched or 0.0),
        }
        if is_item(claimed.position):
            given["orchestrator.item"] = index_of(claimed.position)
        span_id = attempt_span(claimed.step_id, claimed.attempt)
        return self._otel.start(of, span_id, f"step {step.name}", parent, attributes=given)
