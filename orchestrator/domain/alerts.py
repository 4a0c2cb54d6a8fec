"""Alerts: what there may be one about, and the words in which it is told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from orchestrator.domain.times import span

MOST_CAUSES = 3  # that a message tells of


class Kind(StrEnum):
    """What an alert is about."""

    RUN_FAILED = "run_failed"
    RUN_CANCELED = "run_canceled"
    RUN_LATE = "run_late"
    QUEUE_STUCK = "queue_stuck"
    SCHEDULE_PAUSED = "schedule_paused"
    SCHEDULE_LATE = "schedule_late"
    SCHEDULE_ERROR = "schedule_error"


class Severity(StrEnum):
    """How much it matters; the rule says it."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class State(StrEnum):
    """What a message says of its alert; `test` has none."""

    FIRING = "firing"
    RESOLVED = "resolved"
    TEST = "test"


class Channel(StrEnum):
    """Where a message goes."""

    WEBHOOK = "webhook"
    EMAIL = "email"


ENDS = (Kind.RUN_FAILED, Kind.RUN_CANCELED)  # what has happened, each run once; all others are so for a while
OF_RUNS = (*ENDS, Kind.RUN_LATE)
OF_SCHEDULES = (Kind.SCHEDULE_PAUSED, Kind.SCHEDULE_LATE, Kind.SCHEDULE_ERROR)

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_LONGEST = 300


def one_line(text: Any, most: int = _LONGEST) -> str:
    """Text of anybody's making as part of a line: no line ends, controls or marks that turn the direction."""
    line = _CONTROLS.sub(" ", str(text)).strip()
    return line if len(line) <= most else line[: most - 1] + "…"


def title_of(message: Mapping[str, Any]) -> str:
    """One line: what is so, and how often."""
    return f"[{_mark(message)}] {one_line(_headline(message))}"


def lines_of(message: Mapping[str, Any]) -> list[str]:
    """What else there is to know: where, why, and what to do next. Plain text."""
    lines = [*_causes(message["causes"]), *(one_line(line) for line in message["details"])]
    if message["url"]:
        lines.append(message["url"])
    if message["next"]:
        lines.append("What to do: " + "; or ".join(f"`{command}`" for command in message["next"]))
    return lines


def slack_text(message: Mapping[str, Any]) -> str:
    """Both as Slack and what is like it reads: names and errors in it are nothing but text."""
    return "\n".join(_escaped(line) for line in (title_of(message), *lines_of(message)))


def _mark(message: Mapping[str, Any]) -> str:
    return str(message["severity"] if message["state"] == State.FIRING else message["state"])


def _headline(message: Mapping[str, Any]) -> str:
    if message["state"] == State.TEST:
        return f"this is a test of the alert rule '{message['rule']}'"
    return _resolved(message) if message["state"] == State.RESOLVED else _firing(message)


def _firing(message: Mapping[str, Any]) -> str:
    count = message["count"]
    runs = "1 run" if count == 1 else f"{count:,} runs"
    told = {
        Kind.RUN_FAILED: f"{runs} of '{message['workflow']}' failed",
        Kind.RUN_CANCELED: f"{runs} of '{message['workflow']}' {'was' if count == 1 else 'were'} canceled",
        Kind.RUN_LATE: f"{runs} of '{message['workflow']}' {'is' if count == 1 else 'are'} late",
        Kind.QUEUE_STUCK: f"queue '{message['queue']}' is stuck",
        Kind.SCHEDULE_PAUSED: f"schedule '{message['schedule']}' was paused after failures",
        Kind.SCHEDULE_LATE: f"schedule '{message['schedule']}' is late",
        Kind.SCHEDULE_ERROR: f"schedule '{message['schedule']}' cannot start its runs",
    }
    return f"{told[Kind(message['kind'])]}{' (still)' if message['repeated'] else ''}"


def _resolved(message: Mapping[str, Any]) -> str:
    told = {
        Kind.RUN_FAILED: f"the failed runs of '{message['workflow']}' have succeeded since",
        Kind.RUN_LATE: f"no run of '{message['workflow']}' that was late is open any more",
        Kind.QUEUE_STUCK: f"queue '{message['queue']}' moves again",
        Kind.SCHEDULE_PAUSED: f"schedule '{message['schedule']}' is not paused any more",
        Kind.SCHEDULE_LATE: f"schedule '{message['schedule']}' is not late any more",
        Kind.SCHEDULE_ERROR: f"schedule '{message['schedule']}' has no error any more",
    }
    return told[Kind(message["kind"])]


def _causes(causes: Sequence[Mapping[str, Any]]) -> list[str]:
    return [_cause(cause) for cause in causes]


def _cause(cause: Mapping[str, Any]) -> str:
    where = f"step '{one_line(cause['step'])}': " if cause["step"] else ""
    why = f"{cause['type']}: {cause['line']}" if cause["type"] else cause["line"] or "no message"
    often = f" ({cause['count']:,} runs)" if cause["count"] > 1 else ""
    at = cause["url"] or f"run {cause['run_id']}"
    return f"{where}{one_line(why)}{often} - {at}"


def _escaped(text: str) -> str:
    """Slack's own three: without them nothing is a link, a mention or a command."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def describe_rule(kinds: Sequence[str], late: int | None, stuck: int) -> str:
    """What a rule is about, in words."""
    words = {
        Kind.RUN_FAILED: "a run fails",
        Kind.RUN_CANCELED: "a run is canceled",
        Kind.RUN_LATE: "a run is past its deadline" + (f", or open for {span(late)}" if late else ""),
        Kind.QUEUE_STUCK: f"nothing is taken from a queue for {span(stuck)}",
        Kind.SCHEDULE_PAUSED: "a schedule is paused after failures",
        Kind.SCHEDULE_LATE: "a schedule is late",
        Kind.SCHEDULE_ERROR: "a schedule cannot start its run",
    }
    return "; ".join(words[kind] for kind in Kind if kind in kinds)
