"""Why a step is as it is, in words. Every view says it with these."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from orchestrator.domain.graph import Plan
from orchestrator.domain.states import Reason, StepStatus
from orchestrator.domain.times import duration

REASONS: dict[Reason, str] = {
    Reason.CONDITION: "its condition was false",
    Reason.CONDITION_ERROR: "its condition could not be evaluated",
    Reason.NOT_TRIGGERED: "its dependencies did not ask for it",
    Reason.UPSTREAM: "a step it needs failed",
    Reason.UNREACHABLE: "too few of its dependencies were met",
    Reason.FUNCTION: "its function asked to skip it",
    Reason.ERROR: "it raised an error",
    Reason.CACHED: "an earlier result was used again",
    Reason.TIMEOUT: "an attempt ran past its timeout",
    Reason.TOTAL_TIMEOUT: "its attempts together ran past its total timeout",
    Reason.LOST: "its worker died, and it is not to be run twice",
    Reason.POISON: "its workers died again and again",
    Reason.ABORT: "another step failed and aborted the run",
    Reason.DRAIN: "the run had failed and started nothing new",
    Reason.RUN_FAILED: "the run had failed",
    Reason.CANCELED: "the run was canceled",
    Reason.DEADLINE: "the run reached its deadline",
    Reason.MARKED: "an operator marked it",
    Reason.FAIL_FAST: "another item had failed",
    Reason.LEFT: "the function that had begun it ended without waiting for it",
}
_NAMED = 3


def sentence(words: str) -> str:
    """The words with a full stop, unless they end as a sentence does: a title that somebody wrote may."""
    return words if words.endswith((".", "?", "!")) else f"{words}."


def reason_in_words(reason: str | None) -> str:
    """The words for a stored reason; nothing for none."""
    return REASONS[Reason(reason)] if reason else ""


def failed_source(plan: Plan, statuses: Mapping[int, StepStatus], position: int) -> str | None:
    """The failed step because of which the step at `position` is upstream_failed."""
    seen: set[int] = set()
    todo = [position]
    while todo:
        for source in plan.at(todo.pop()).sources:
            if statuses.get(source) is StepStatus.FAILED:
                return plan.at(source).name
            if statuses.get(source) is StepStatus.UPSTREAM_FAILED and source not in seen:
                seen.add(source)
                todo.append(source)
    return None


def open_sources(plan: Plan, statuses: Mapping[int, StepStatus], position: int) -> str:
    """The steps a pending step waits for: `a, b and 4 more`."""
    names = [plan.at(s).name for s in plan.at(position).sources if not statuses.get(s, StepStatus.PENDING).terminal]
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def waits_for(wait: Mapping[str, Any], now: datetime, child: Mapping[str, Any] | None = None) -> str:
    """What a step waits for without a worker: `waits for event 'paid' (9 min 55 s left)`; `child`: its run."""
    until = wait.get("until")
    left = duration((datetime.fromisoformat(until) - now).total_seconds()) if until else ""
    room = f" ({left} left)" if left else ""
    match wait.get("for"):
        case "time":
            return f"sleeps for another {left}"
        case "items":
            failed = f", {wait['failed']:,} failed" if wait.get("failed") else ""
            return f"waits for its items: {wait.get('ended', 0):,} of {wait['total']:,} items have ended{failed}"
        case "steps":
            more = wait["count"] - len(wait["steps"])
            return f"waits for {', '.join(wait['steps'])}{f' and {more:,} more' if more else ''}"
        case "turn":
            return "goes on"
        case "rate":
            return f"waits for its turn: '{wait['function']}' is called {wait['rate']} at most{room}"
        case "child":
            status = f", which is {child['status']}" if child is not None else ""
            return f"waits for run {wait['run_id']} of '{wait['workflow']}'{status}"
        case "approval":
            return f"waits for a decision: {wait['title']}{room}"
        case "celery":
            return f"waits for Celery task {wait['task']} on queue {wait['queue']}{room}"
        case _:
            return f"waits for event '{wait.get('event')}'{room}"
