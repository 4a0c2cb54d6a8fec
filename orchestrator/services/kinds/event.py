"""`wait_for`: wait for an event, or for a person's decision."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.definition import Approval, OnReject, OnTimeout, WaitFor
from orchestrator.domain.event_names import approval_event, is_decision, is_name
from orchestrator.domain.events import payload_problems
from orchestrator.domain.items import index_of, is_item
from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.domain.values import storable
from orchestrator.errors import ExpressionError
from orchestrator.services.claim import failed, seconds
from orchestrator.services.kinds.half import Half, Turn
from orchestrator.store import signals


def wait_for(half: Half) -> Turn:
    """Wait for a signal; its payload is the output. One that was kept from before is taken at once."""
    asked = half.step.wait_for
    assert asked is not None
    if half.wait is None:
        return Turn(_wait(half, _begun(half, asked)))
    number = half.wait.get("signal")
    if number is not None:
        return Turn(_received(half, asked, number))
    if half.timeout is not None:
        return Turn(Outcome.timed_out(half.timeout))
    until = half.wait["until"]
    if until is None or datetime.fromisoformat(until) > half.now:
        return Turn(_wait(half, half.wait))
    return Turn(_too_late(half, asked))


def _begun(half: Half, asked: WaitFor) -> dict[str, Any]:
    """What it waits for, in full: also what people are shown."""
    render = half.scope.render
    allowed = seconds(render(asked.timeout), "wait_for.timeout")
    until = None if allowed is None else (half.now + timedelta(seconds=allowed)).isoformat()
    if asked.approval is not None:
        event = approval_event(half.step.name, _item(half))
        return {"for": "approval", "event": event, **_question(half, asked.approval), "until": until}
    event = render(asked.event)
    if not is_name(event) or is_decision(event):
        raise ExpressionError(f"`event` must become a name of 1 to 255 printable characters, not {event!r:.80}")
    return {"for": "event", "event": event, "until": until}


def _item(half: Half) -> int | None:
    return index_of(half.claimed.position) if is_item(half.claimed.position) else None


def _question(half: Half, approval: Approval) -> dict[str, Any]:
    render = half.scope.render
    asked = {
        "title": str(render(approval.title)),
        "description": render(approval.description),
        "fields": dict(approval.fields),
        "assignees": [str(name) for name in _flat(render(list(approval.assignees)))],
    }
    return dict(storable(asked, max_bytes=half.engine.settings.max_output_bytes)[0])


def _flat(names: Any) -> list[Any]:
    """A template may give one name, or several."""
    return [one for name in names for one in (name if isinstance(name, list) else [name])]


def _wait(half: Half, wait: Mapping[str, Any]) -> Outcome:
    until = wait["until"]
    left = None if until is None else (datetime.fromisoformat(until) - half.now).total_seconds()
    run_id, step_id = half.claimed.run_id, half.claimed.step_id

    def take(conn: Connection) -> bool:
        return signals.take_first(conn, run_id, step_id, wait["event"])

    return Outcome.suspended(wait, left, take)


def _received(half: Half, asked: WaitFor, number: int) -> Outcome:
    signal = signals.load_signal(half.conn, number)
    problems = payload_problems(asked, signal.payload)
    if problems:
        told = "; ".join(map(str, problems))
        return failed("InvalidSignal", f"event '{signal.name}' of {signal.actor} does not fit: {told}")
    if asked.approval is not None and not signal.payload["approved"] and asked.approval.on_reject is OnReject.FAIL:
        comment = signal.payload.get("comment")
        return failed("Rejected", f"rejected by {signal.payload['by']}{f': {comment}' if comment else ''}")
    value, text = storable(signal.payload, max_bytes=half.engine.settings.max_output_bytes)
    return Outcome.succeeded(value, text)


def _too_late(half: Half, asked: WaitFor) -> Outcome:
    assert half.wait is not None
    what = "decision" if asked.approval else f"event '{half.wait['event']}'"
    message = f"no {what} came before {half.wait['until']}"
    error = ErrorInfo("WaitTimeout", message, classes=("WaitTimeout", "TimeoutError"))
    match asked.on_timeout:
        case OnTimeout.SKIP:
            return Outcome(OutcomeKind.SKIPPED, error=error)
        case OnTimeout.CONTINUE:
            return Outcome.succeeded(None, "null")
        case OnTimeout.FAIL:
            return Outcome(OutcomeKind.TIMED_OUT, error=error)
