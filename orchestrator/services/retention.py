"""Say how long what has ended is kept."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from orchestrator.domain.near import did_you_mean
from orchestrator.domain.retention import MOST_NEWEST, MOST_SECONDS, RUNS, Rule
from orchestrator.domain.states import RUN_TERMINAL
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.store import events, retention
from orchestrator.store.db import Database
from orchestrator.store.histories import HISTORIES
from orchestrator.store.reads.runs import workflow_ids
from orchestrator.store.workflows import find_app

_NAMES = (RUNS, *HISTORIES)


def set_rule(db: Database, rule: Rule, *, reason: str | None = None, actor: str) -> bool:
    """Store a rule, whose `app` and `workflow` are names, in the place of one for the same; True when it is new.

    Raises `NotFound` for an app or a workflow nobody has registered, and `InvalidInput`.
    """
    _check(rule)
    with db.transaction() as conn:
        made = retention.set_rule(conn, keyed(conn, rule), rule.app or None, rule.workflow or None, actor)
        bounds = {"keep_seconds": rule.keep_seconds, "keep_newest": rule.keep_newest}
        events.audit(conn, actor, "set_retention", "retention", _target(rule), reason, _said(rule) | bounds)
    return made


def delete_rule(db: Database, rule: Rule, *, reason: str | None = None, actor: str) -> None:
    """Remove the rule for the same; raises `NotFound`."""
    with db.transaction() as conn:
        if not retention.delete_rule(conn, _by_keys(rule)):
            raise NotFound(f"there is no such rule: {_target(rule)} (orchestrator retention list)")
        events.audit(conn, actor, "delete_retention", "retention", _target(rule), reason, _said(rule))


def keyed(conn: Connection, rule: Rule) -> Rule:
    """The rule with keys in the place of names; raises `NotFound` for an app or a workflow nobody has registered."""
    if rule.app:
        find_app(conn, rule.app)
    if rule.workflow:
        workflow_ids(conn, rule.workflow)
    return _by_keys(rule)


def _by_keys(rule: Rule) -> Rule:
    app, workflow = (retention.key_of(name or None) for name in (rule.app, rule.workflow))
    return replace(rule, app=app, workflow=workflow)


def _check(rule: Rule) -> None:
    problems = []
    if rule.what not in _NAMES:
        problems.append(Problem("what", f"there is no history '{rule.what}'{did_you_mean(rule.what, _NAMES)}"))
    if rule.what != RUNS and (rule.app or rule.workflow or rule.status or rule.keep_newest is not None):
        problems.append(Problem("what", "only runs are told apart by app, workflow and status, and counted"))
    if rule.status and rule.status not in RUN_TERMINAL:
        problems.append(Problem("status", f"is not an end: {', '.join(sorted(RUN_TERMINAL))}"))
    for name, value, most in (
        ("keep_seconds", rule.keep_seconds, MOST_SECONDS),
        ("keep_newest", rule.keep_newest, MOST_NEWEST),
    ):
        if value is not None and not 0 <= value <= most:
            problems.append(Problem(name, f"must be from 0 to {most}, not {value}"))
    if problems:
        raise InvalidInput(problems, "the rule is invalid")


def _target(rule: Rule) -> str:
    said = _said(rule)
    return " ".join([str(said.pop("what")), *(f"{name}={value}" for name, value in said.items() if value)])


def _said(rule: Rule) -> dict[str, object]:
    return {
        "what": rule.what,
        "app": rule.app or None,
        "workflow": rule.workflow or None,
        "status": rule.status or None,
    }
