"""Make alert rules, change them, pause and resume them, delete them, try them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.alerts import Channel, State
from orchestrator.errors import Conflict, InvalidInput, Problem
from orchestrator.services.alert_message import message_of_test
from orchestrator.services.alert_spec import HIDDEN, channels, check_said, said
from orchestrator.services.engine import Engine
from orchestrator.services.seal import Seal
from orchestrator.store import alert_deliveries, alert_rules, events, workflows
from orchestrator.store.workflows import Owner

ALL_APPS = "*"  # in place of an app's name


@dataclass(frozen=True, slots=True)
class SetRule:
    """`changed`: whether it is new or anything of it is other than before."""

    id: str
    created: bool
    changed: bool


def set_rule(
    engine: Engine,
    seal: Seal,
    name: str,
    given: Mapping[str, Any],
    *,
    app: str | None = None,
    actor: str = "cli",
) -> SetRule:
    """Make the rule of this name, or change what is `given` of it: see `alert_spec.DEFAULTS` and `HIDDEN`.

    `app`: the configured one by default, `*` for all apps. Raises `InvalidInput` with all problems, `NotFound` for the
    app, and `Conflict` without a SECRET_KEY for a URL or secret in words.
    """
    with engine.db.transaction() as conn:
        owner = _owner(conn, engine, app)
        row = alert_rules.find_rule(conn, name, owner.name if owner is not None else None)
        if row is not None:
            return _change(engine, seal, conn, row, given, actor)
        return SetRule(_create(engine, seal, conn, owner, name, given, actor), created=True, changed=True)


def create_rule(
    engine: Engine, seal: Seal, name: str, given: Mapping[str, Any], *, app: str | None = None, actor: str = "cli"
) -> str:
    """Make a rule; its id. Raises as `set_rule`, and `Conflict` when there is one of this name."""
    with engine.db.transaction() as conn:
        return _create(engine, seal, conn, _owner(conn, engine, app), name, given, actor)


def change_rule(
    engine: Engine, seal: Seal, which: str, given: Mapping[str, Any], *, app: str | None = None, actor: str = "cli"
) -> SetRule:
    """Change what is given. Raises as `set_rule`, and as `one_rule`."""
    with engine.db.transaction() as conn:
        return _change(engine, seal, conn, one_rule(conn, which, app), given, actor)


def pause_rule(
    engine: Engine, which: str, *, app: str | None = None, reason: str | None = None, actor: str = "cli"
) -> str:
    """Let it tell nothing until it is resumed, what is on its way included; its id. Raises as `one_rule`, and
    `Conflict` when it is paused."""
    with engine.db.transaction() as conn:
        row = one_rule(conn, which, app)
        if row.paused_at is not None:
            raise Conflict(f"alert rule '{row.name}' is paused already")
        alert_rules.pause_rule(conn, row.id, actor, reason)
        _tell(conn, actor, "pause_alert", row, reason)
    return str(row.id)


def resume_rule(
    engine: Engine, which: str, *, app: str | None = None, reason: str | None = None, actor: str = "cli"
) -> str:
    """Let it tell again, from now on; its id. Raises as `one_rule`, and `Conflict` when it is not paused."""
    with engine.db.transaction() as conn:
        row = one_rule(conn, which, app)
        if row.paused_at is None:
            raise Conflict(f"alert rule '{row.name}' is not paused")
        alert_rules.resume_rule(conn, row.id)
        _tell(conn, actor, "resume_alert", row, reason)
    return str(row.id)


def delete_rule(
    engine: Engine, which: str, *, app: str | None = None, reason: str | None = None, actor: str = "cli"
) -> str:
    """Remove it with what it has found; its id. Raises as `one_rule`."""
    with engine.db.transaction() as conn:
        row = one_rule(conn, which, app)
        alert_rules.delete_rule(conn, row.id)
        _tell(conn, actor, "delete_alert", row, reason)
    return str(row.id)


def try_rule(engine: Engine, which: str, *, app: str | None = None, actor: str = "cli") -> list[str]:
    """Send a message to each of its channels, as the coordinator sends all; the ids of the deliveries.

    Raises as `one_rule`, and `Conflict` when it is paused.
    """
    with engine.db.transaction() as conn:
        row = one_rule(conn, which, app)
        if row.paused_at is not None:
            raise Conflict(f"alert rule '{row.name}' is paused: resume it first")
        message = message_of_test(engine, conn, row)
        ids = [alert_deliveries.add(conn, row.id, None, one, State.TEST, message) for one in channels_of(row)]
        _tell(conn, actor, "test_alert", row)
    return ids


def channels_of(row: Row[Any]) -> list[Channel]:
    """Where a rule sends to."""
    has = {Channel.WEBHOOK: row.url is not None, Channel.EMAIL: bool(row.emails)}
    return [channel for channel, there in has.items() if there]


def one_rule(conn: Connection, which: str, app: str | None) -> Row[Any]:
    """The rule of this name or id, locked. Raises `NotFound`, and `Conflict` for a name of several apps'."""
    if app == ALL_APPS:
        row = alert_rules.find_rule(conn, which, None)
        return row if row is not None else alert_rules.lock_rules(conn, which, None)[0]
    rows = alert_rules.lock_rules(conn, which, app)
    if len(rows) > 1:
        raise Conflict(f"alert rules of several apps are named '{which}': say which app, or give the id")
    return rows[0]


def _owner(conn: Connection, engine: Engine, app: str | None) -> Owner | None:
    """A rule may be the first that the configured app has."""
    if app is None:
        return workflows.ensure_app(conn, engine.settings.app)
    return None if app == ALL_APPS else workflows.find_owner(conn, app, None)


def _create(
    engine: Engine, seal: Seal, conn: Connection, owner: Owner | None, name: str, given: Mapping[str, Any], actor: str
) -> str:
    wanted = said(given)
    check_said(name, wanted, given, engine.settings.alert_hosts)
    stored = wanted | channels(seal, given)
    _check_channel(stored)
    id = alert_rules.insert_rule(conn, name, owner.id if owner is not None else None, stored, actor)
    if id is None:
        whose = f"app '{owner.name}' has" if owner is not None else "there is"
        raise Conflict(f"{whose} an alert rule '{name}' already")
    data = {"alert_id": id, "app": owner.name if owner is not None else None, "kinds": list(wanted["kinds"])}
    events.audit(conn, actor, "create_alert", "alert", name, data=data | {"webhook": stored["webhook"]})
    return id


def _change(
    engine: Engine, seal: Seal, conn: Connection, row: Row[Any], given: Mapping[str, Any], actor: str
) -> SetRule:
    before = dict(row._mapping)
    wanted = said(given, before)
    check_said(row.name, wanted, given, engine.settings.alert_hosts)
    stored = wanted | channels(seal, given, before)
    _check_channel(stored)
    changed = {name for name, value in wanted.items() if _plain(value) != _plain(before[name])}
    changed |= {name for name in HIDDEN if name in given and (given[name] is not None or before[_COLUMN[name]])}
    if not changed:
        return SetRule(row.id, created=False, changed=False)
    alert_rules.change_rule(conn, row.id, stored, actor)
    _tell(conn, actor, "change_alert", row, changed=sorted(changed))
    return SetRule(row.id, created=False, changed=True)


_COLUMN = {"webhook": "url", "secret": "secret"}


def _check_channel(stored: Mapping[str, Any]) -> None:
    if stored["url"] is None and not stored["emails"]:
        problem = Problem("webhook", "give a webhook or an e-mail address", "or both")
        raise InvalidInput([problem], "the alert rule is invalid")


def _tell(conn: Connection, actor: str, action: str, row: Row[Any], reason: str | None = None, **more: Any) -> None:
    told = {"alert_id": str(row.id), "app": row.app} | more
    events.audit(conn, actor, action, "alert", row.name, reason, told)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
