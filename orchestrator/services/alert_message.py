"""What an alert tells: one value for every channel, made when it is stored; sending changes nothing of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Row

from orchestrator.domain.alerts import ENDS, MOST_CAUSES, OF_RUNS, Kind, State, one_line
from orchestrator.domain.times import duration
from orchestrator.services.engine import Engine
from orchestrator.store import alerts
from orchestrator.store.clock import read_now
from orchestrator.store.reads.causes import Cause, causes_among
from orchestrator.store.reads.page import iso
from orchestrator.store.reads.stuck import open_among


def message_of(engine: Engine, conn: Connection, rule: Row[Any], alert: Row[Any], state: State) -> dict[str, Any]:
    """What is so of the alert, or is so no more."""
    kind, subject = Kind(alert.kind), alert.subject
    told = _head(rule, kind, state, alert.now) | {
        "alert_id": str(alert.id),
        "repeated": state is State.FIRING and alert.sent_at is not None and kind not in ENDS,
        "count": alert.unsent if state is State.FIRING and alert.unsent else alert.total,
        "total": alert.total,
        "opened_at": iso(alert.opened_at),
        **{name: subject.get(name) for name in ("app", "workflow", "queue", "schedule")},
    }
    if state is State.FIRING:
        told |= {"causes": _causes(engine, conn, kind, alert), "details": _details(conn, kind, alert)}
        told["next"] = _next(kind, told)
    return told | {"url": _url(engine, kind, told, subject)}


def message_of_test(engine: Engine, conn: Connection, rule: Row[Any]) -> dict[str, Any]:
    """What a rule sends when it is tried."""
    told = _head(rule, None, State.TEST, read_now(conn))
    told["details"] = ["Nothing has happened: somebody tries whether messages of this rule arrive."]
    return told | {"app": rule.app, "url": _link(engine, f"/alerts/rule?id={rule.id}")}


def _head(rule: Row[Any], kind: Kind | None, state: State, now: datetime) -> dict[str, Any]:
    return {
        "alert_id": None,
        "rule": rule.name,
        "kind": kind,
        "state": state,
        "severity": rule.severity,
        "at": iso(now),
        "opened_at": None,
        "repeated": False,
        "count": 0,
        "total": 0,
        "app": None,
        "workflow": None,
        "queue": None,
        "schedule": None,
        "causes": [],
        "details": [],
        "next": [],
    }


def _causes(engine: Engine, conn: Connection, kind: Kind, alert: Row[Any]) -> list[dict[str, Any]]:
    if kind is not Kind.RUN_FAILED:
        return []
    causes = causes_among(conn, alerts.runs_of(conn, alert.id), limit=MOST_CAUSES)
    return [_cause(engine, cause) for cause in causes]


def _cause(engine: Engine, cause: Cause) -> dict[str, Any]:
    told = {"step": cause.step, "type": cause.type, "line": cause.line, "count": cause.count, "run_id": cause.run_id}
    return told | {"failed_at": cause.failed_at, "url": _link(engine, f"/runs/{cause.run_id}")}


def _details(conn: Connection, kind: Kind, alert: Row[Any]) -> list[str]:
    subject = alert.subject
    if kind is Kind.RUN_LATE:
        return [
            f"run {run['run_id']} is {run['status']}, and was started {duration(run['age'])} ago"
            for run in open_among(conn, alerts.runs_of(conn, alert.id), MOST_CAUSES)
        ]
    if kind is Kind.QUEUE_STUCK:
        waits = duration((alert.now - datetime.fromisoformat(subject["since"])).total_seconds())
        many = "1 step waits" if subject["steps"] == 1 else f"{subject['steps']:,} steps wait"
        return [f"{many}, the first for {waits}; {subject['why']}"]
    return [subject["why"]] if subject.get("why") else []


def _next(kind: Kind, told: Mapping[str, Any]) -> list[str]:
    """Commands that go on from here."""
    if kind is Kind.RUN_FAILED and told["causes"]:
        run = told["causes"][0]["run_id"]
        return [f"orchestrator show {run}", f"orchestrator retry {run}"]
    if kind in OF_RUNS:
        return [f"orchestrator runs --workflow {_quoted(told['workflow'])}"]
    if kind is Kind.QUEUE_STUCK:
        return ["orchestrator workers", "orchestrator db check"]
    verb = "resume" if kind is Kind.SCHEDULE_PAUSED else "fire"
    shown = f"orchestrator schedule show {_quoted(told['schedule'])}"
    return ["orchestrator workers", shown] if kind is Kind.SCHEDULE_LATE else [shown, shown.replace("show", verb, 1)]


def _url(engine: Engine, kind: Kind, told: Mapping[str, Any], subject: Mapping[str, Any]) -> str | None:
    if kind in OF_RUNS:
        status = "failed" if kind is Kind.RUN_FAILED else "canceled" if kind is Kind.RUN_CANCELED else "running"
        causes = told["causes"]
        if len(causes) == 1 and causes[0]["count"] == 1:
            return None  # it is with the cause
        return _link(engine, f"/runs?workflow={quote(str(told['workflow']), safe='')}&status={status}")
    return _link(engine, "/pools" if kind is Kind.QUEUE_STUCK else f"/schedules/schedule?id={subject['id']}")


def _link(engine: Engine, path: str) -> str | None:
    return engine.settings.public_url + path if engine.settings.public_url else None


def _quoted(name: Any) -> str:
    """As a shell takes it."""
    return shlex.quote(one_line(name))
