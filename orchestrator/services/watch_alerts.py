"""The coordinator looks by the alert rules: what is so is noted, what is due is told, what is over is closed.

One transaction a look, under one lock: any number of coordinators find each thing once. Messages are stored with what
they tell, and sent by others (docs/adr/0027).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.alerts import ENDS, OF_SCHEDULES, Kind, State
from orchestrator.domain.times import duration
from orchestrator.errors import OrchestratorError
from orchestrator.services.alert_message import message_of
from orchestrator.services.alert_rules import channels_of
from orchestrator.services.engine import Engine, Rounds
from orchestrator.store import alert_deliveries, alert_facts, alerts
from orchestrator.store.alert_facts import Waits
from orchestrator.store.alert_rules import MARK, active_rules
from orchestrator.store.alerts import Found
from orchestrator.store.horizon import hold, move
from orchestrator.store.reads.queue_rows import list_queue_rows
from orchestrator.store.reads.schedules import schedules_in_trouble
from orchestrator.store.workflows import name_key

log = logging.getLogger(__name__)
_OPEN_AT_A_LOOK = alert_facts.MOST_RUNS  # that are looked at, for being late: those that are, are kept by their ids
_TOLD_AT_A_LOOK = 200
_MOST_SCHEDULES = 1_000
_CONFIRMED_SECONDS = 1.0  # a queue is stuck when it is so at two looks


@dataclass(slots=True)
class Watch:
    """Where the looks of this process go on."""

    rounds: Rounds = field(default_factory=Rounds)


@dataclass(frozen=True, slots=True)
class _Look:
    engine: Engine
    conn: Connection
    rules: dict[str, Row[Any]]

    def of(self, kind: Kind) -> list[Row[Any]]:
        """The rules about this."""
        return [rule for rule in self.rules.values() if kind in rule.kinds]

    def rule(self, id: Any) -> Row[Any]:
        """One of them, or one that was made or resumed since they were read."""
        if str(id) not in self.rules:
            self.rules.update(_rules(self.conn))
        return self.rules[str(id)]


def watch(engine: Engine, state: Watch) -> bool:
    """Look once; False when another coordinator does, or nobody ever made a rule."""
    with engine.db.transaction() as conn:
        held = hold(conn, MARK)
        if held is None:
            return False
        look = _Look(engine, conn, _rules(conn))
        portion = move(conn, MARK, held)
        if portion is not None:  # also without a rule about them: what is passed over now is told to none
            _note_runs(look, alert_facts.ended_runs(conn, portion))
        if look.of(Kind.RUN_LATE):
            _note_runs(look, _late(conn, state.rounds))
        _close_runs(look)
        _follow(look, (Kind.QUEUE_STUCK,), _queues)
        _follow(look, OF_SCHEDULES, _schedules)
        _tell(look)
    return True


def _rules(conn: Connection) -> dict[str, Row[Any]]:
    return {str(rule.id): rule for rule in active_rules(conn)}


def _late(conn: Connection, rounds: Rounds) -> Sequence[Row[Any]]:
    ids = alert_facts.open_runs(conn, rounds.after, _OPEN_AT_A_LOOK)
    rounds.after = ids[-1] if len(ids) == _OPEN_AT_A_LOOK else rounds.first
    return alert_facts.late_runs(conn, ids) if ids else []


def _note_runs(look: _Look, rows: Sequence[Row[Any]]) -> None:
    for row in rows:
        subject = {"app": row.app, "workflow": row.workflow}
        wait = look.rule(row.rule_id).group_seconds
        what = f"{row.workflow_id}:{row.app_id}"
        ids = [str(id) for id in row.run_ids]
        alerts.note(look.conn, Found(str(row.rule_id), row.kind, what, subject, row.runs, wait, ids))


def _close_runs(look: _Look) -> None:
    open_ones = {str(one.id): one for one in alerts.open_alerts(look.conn, (Kind.RUN_FAILED, Kind.RUN_LATE))}
    for id, recovered in alerts.over(look.conn, list(open_ones)).items():
        resolved = recovered or open_ones[id].kind == Kind.RUN_LATE
        _apart(look, open_ones[id], partial(_close, outcome="resolved" if resolved else "quiet"))


def _follow(look: _Look, kinds: Sequence[Kind], find: Callable[[_Look, Sequence[Row[Any]]], Iterator[Found]]) -> None:
    """What is so for a while: noted as long as it is found, closed when it no longer is."""
    open_ones = alerts.open_alerts(look.conn, kinds)
    if not open_ones and not any(look.of(kind) for kind in kinds):
        return
    still = set()
    for found in find(look, open_ones):
        still.add((found.rule_id, found.kind, found.what))
        alerts.note(look.conn, found)
    for one in open_ones:
        if (str(one.rule_id), one.kind, one.what) not in still:
            _apart(look, one, partial(_close, outcome="resolved"))


def _queues(look: _Look, open_ones: Sequence[Row[Any]]) -> Iterator[Found]:
    listed = {queue["name"]: queue for queue in list_queue_rows(look.conn) if queue["ready"] + queue["queued"]}
    before = {(str(one.rule_id), one.what): one.subject["since"] for one in open_ones}
    waits = alert_facts.queue_waits(look.conn, list(listed)) if listed else []
    for rule in look.of(Kind.QUEUE_STUCK):
        for one in waits:
            if _is_about(rule, one) and _is_stuck(rule, one, before.get((str(rule.id), one.queue))):
                yield _stuck(rule, one, listed[one.queue])


def _is_about(rule: Row[Any], waits: Waits) -> bool:
    named = rule.queue is None or rule.queue == waits.queue
    return named and (rule.app_id is None or str(rule.app_id) in waits.app_ids)


def _is_stuck(rule: Row[Any], waits: Waits, before: str | None) -> bool:
    """Nothing is taken: what waits longest has waited too long, and is still the same; no step was begun meanwhile."""
    since = waits.now - timedelta(seconds=rule.stuck_seconds)
    moves = before is not None and before != waits.since.isoformat()
    return waits.since <= since and not moves and (waits.begun_at is None or waits.begun_at <= since)


def _stuck(rule: Row[Any], waits: Waits, queue: Mapping[str, Any]) -> Found:
    if queue["stuck"]:
        why = "no worker listens to it"
    else:
        why = f"workers that listen: {queue['workers']}; steps they run: {queue['running']}"
    if waits.begun_at is not None:
        why += f", the last begun {duration((waits.now - waits.begun_at).total_seconds())} ago"
    subject = {"queue": waits.queue, "since": waits.since.isoformat(), "steps": waits.steps, "why": why}
    return Found(str(rule.id), Kind.QUEUE_STUCK, waits.queue, subject, 1, _CONFIRMED_SECONDS)


def _schedules(look: _Look, open_ones: Sequence[Row[Any]]) -> Iterator[Found]:
    for one in schedules_in_trouble(look.conn, _MOST_SCHEDULES):
        for kind, why in _troubles(one):
            for rule in look.of(kind):
                if _fits(rule, one):
                    subject = {name: one[name] for name in ("id", "app", "workflow")}
                    told = subject | {"schedule": one["name"], "why": why}
                    yield Found(str(rule.id), kind, one["id"], told, 1, 0.0)


def _troubles(one: Mapping[str, Any]) -> Iterator[tuple[Kind, str]]:
    if one["late"]:
        yield Kind.SCHEDULE_LATE, f"it was due at {one['due_at']}, and no coordinator has fired it"
    if one["paused"] and one["paused_by"] == "engine":
        yield Kind.SCHEDULE_PAUSED, f"{one['pause_reason']}; it fires again when it is resumed"
    if one["error"]:
        yield Kind.SCHEDULE_ERROR, str(one["error"])


def _fits(rule: Row[Any], one: Mapping[str, Any]) -> bool:
    of_app = rule.app is None or name_key(rule.app) == name_key(one["app"])
    of_workflow = rule.workflow_key is None or rule.workflow_key == name_key(one["workflow"])
    return of_app and of_workflow and set(rule.tags) <= set(one["tags"])


def _tell(look: _Look) -> None:
    """Messages that are due. Of what has happened there is one when more has; else nothing came for so long."""
    for one in alerts.due_alerts(look.conn, _TOLD_AT_A_LOOK):
        _apart(look, one, _tell_one)


def _apart(look: _Look, one: Row[Any], act: Callable[[_Look, Row[Any]], None]) -> None:
    try:
        with look.conn.begin_nested():
            act(look, one)
    except OrchestratorError:
        raise
    except Exception:  # noqa: BLE001 - one that cannot be told must not keep the others from being told
        log.exception("alert %s could not be told; it is tried again at the next look", one.id)


def _tell_one(look: _Look, one: Row[Any]) -> None:
    if one.kind in ENDS and not one.unsent:
        alerts.close(look.conn, one.id, "quiet")
        return
    _send(look, one, State.FIRING)
    alerts.note_sent(look.conn, one.id, look.rule(one.rule_id).repeat_seconds)


def _close(look: _Look, one: Row[Any], outcome: str) -> None:
    """Who was told that it is so is told that it is so no more, unless the rule says otherwise."""
    alerts.close(look.conn, one.id, outcome)
    if outcome == "resolved" and one.sent_at is not None and look.rule(one.rule_id).resolved:
        _send(look, one, State.RESOLVED)


def _send(look: _Look, one: Row[Any], state: State) -> None:
    rule = look.rule(one.rule_id)
    message = message_of(look.engine, look.conn, rule, one, state)
    for channel in channels_of(rule):
        alert_deliveries.add(look.conn, rule.id, one.id, channel, state, message)
