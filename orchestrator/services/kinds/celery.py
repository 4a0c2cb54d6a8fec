"""`function: "celery:<task name>"`: a task of plain Celery workers. They hold the work, and no worker of ours does.

The first half sends the task, with the attempt's token as its id. What the task gives comes back by itself
(services/answer.py) and ends the attempt; the second half is for those that did not answer.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from orchestrator.domain.celery_task import FOREIGN_QUEUE, task_name
from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.domain.values import storable
from orchestrator.errors import ExpressionError, UnstorableValue
from orchestrator.services.blobs import unhurried
from orchestrator.services.claim import Claimed, NotPrepared, arguments, cached, refused, seconds
from orchestrator.services.engine import CeleryCall, Engine
from orchestrator.services.kinds.half import LOST, Half, Turn, next_half
from orchestrator.services.scope import queue_name
from orchestrator.store import steps, workers

_SHOWN = 1024  # characters of the arguments that Celery's logs may show


def call_celery(engine: Engine, claimed: Claimed) -> Turn:
    """Call the task, or end an attempt that got no answer in time. Raises `Unreachable`."""

    def begin() -> Turn | tuple[CeleryCall, dict[str, Any], str]:
        with engine.db.transaction(lazy=True) as conn:
            half = next_half(engine, conn, claimed)
            if half is None:
                return Turn(LOST)
            return _begun(half) if half.wait is None else Turn(_unanswered(half))

    try:
        begun = unhurried(begin)
    except ExpressionError as error:
        return Turn(refused(engine, error).outcome)
    except NotPrepared as ended:
        return Turn(ended.outcome, ended.input_json)
    if isinstance(begun, Turn):
        return begun
    call, wait, input_json = begun
    engine.transport.call(call)
    return Turn(Outcome.suspended(wait), input_json)


def _begun(half: Half) -> tuple[CeleryCall, dict[str, Any], str]:
    """The call, what the step waits for then, and the JSON text of the arguments."""
    kwargs, input_json, _ = arguments(half.engine, half.scope.render, half.step)
    _check_size(half, kwargs)
    keep = cached(half.scope, half.step, kwargs, input_json)
    render = half.scope.render
    own = seconds(render(half.step.timeout), "timeout")
    total = seconds(render(half.step.total_timeout), "total_timeout")
    timeout = own or half.engine.settings.celery_timeout
    left = steps.arm_deadlines(half.conn, half.claimed.step_id, half.claimed.token, timeout, total)
    allowed = min(timeout, left) if left is not None else timeout
    call = CeleryCall(
        step_id=half.claimed.step_id,
        token=half.claimed.token,
        name=task_name(half.step.function or ""),
        queue=_queue(half),
        kwargs=kwargs,
        shown=input_json[:_SHOWN],
        expires=half.now + timedelta(seconds=allowed),
        time_limit=own,
    )
    told = {"task": call.name, "id": call.token, "queue": call.queue, "until": call.expires.isoformat()}
    wait = {"for": "celery", **told, "timeout": round(allowed, 3), "keep": asdict(keep) if keep else None}
    return call, wait, input_json


def _check_size(half: Half, kwargs: dict[str, Any]) -> None:
    """They travel in a message, which is no place for what belongs into the blob store."""
    if half.engine.blobs:
        try:
            storable(kwargs, max_bytes=half.engine.settings.max_output_bytes)
        except UnstorableValue as error:
            raise ExpressionError(f"`input` cannot be sent to a Celery task: {error}") from error


def _queue(half: Half) -> str:
    """The step's own, else that which the task's workers announced, else Celery's default."""
    if half.step.queue is not None:
        return queue_name(half.scope.render(half.step.queue))
    return workers.queue_of_function(half.conn, half.step.function or "") or FOREIGN_QUEUE


def _unanswered(half: Half) -> Outcome:
    wait: dict[str, Any] = dict(half.wait or {})
    if half.timeout is None:  # it was woken too early, or its worker was lost meanwhile
        return Outcome.suspended(wait)
    message = f"no answer of Celery task {wait['task']} on queue {wait['queue']} came within {wait['timeout']:g} s"
    return Outcome(OutcomeKind.TIMED_OUT, error=ErrorInfo("Timeout", message, classes=("Timeout", "TimeoutError")))
