"""Make schedules, change them, pause and resume them, delete them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.calendar import Calendar
from orchestrator.domain.firing import Passed, gap
from orchestrator.errors import Conflict
from orchestrator.services.engine import Engine
from orchestrator.services.firing import Firing
from orchestrator.services.schedule_spec import calendar_of, check_said, check_start, said
from orchestrator.store import events, schedules, workflows
from orchestrator.store.clock import read_now
from orchestrator.store.reads.schedules import shown_input
from orchestrator.store.workflows import Owner

_RULE = ("cron", "interval_seconds", "timezone", "jitter_seconds")


@dataclass(frozen=True, slots=True)
class Set:
    """`changed`: whether it is new or anything of it is other than before."""

    id: str
    created: bool
    changed: bool


def create_schedule(
    engine: Engine,
    name: str,
    given: Mapping[str, Any],
    *,
    app: str | None = None,
    paused: bool = False,
    actor: str = "cli",
) -> str:
    """Make a schedule of the app (the configured one by default); its id. `given`: see `schedule_spec.DEFAULTS`.

    Raises `InvalidInput` with all problems, `NotFound` for the app or the workflow, and `Conflict` when the app has a
    schedule of this name.
    """
    wanted = said(given)
    check_said(engine, name, wanted)
    with engine.db.transaction() as conn:
        owner = workflows.find_owner(conn, app or engine.settings.app, None)
        return _create(engine, conn, owner, name, wanted, paused, actor)


def change_schedule(
    engine: Engine, which: str, given: Mapping[str, Any], *, app: str | None = None, actor: str = "cli"
) -> Set:
    """Change what is given. When it fires from now on is only decided anew where that is changed.

    Raises as `create_schedule` does, and as `one_schedule`.
    """
    with engine.db.transaction() as conn:
        return _change(engine, conn, one_schedule(conn, which, app), given, actor)


def set_schedule(
    engine: Engine,
    name: str,
    given: Mapping[str, Any],
    *,
    app: str | None = None,
    paused: bool = False,
    actor: str = "cli",
) -> Set:
    """Make the app's schedule of this name, or change it; whether it is `paused` only counts for a new one. Raises as
    `create_schedule` does."""
    with engine.db.transaction() as conn:
        owner = workflows.find_owner(conn, app or engine.settings.app, None)
        row = schedules.find_schedule(conn, owner.name, name)
        if row is not None:
            return _change(engine, conn, row, given, actor)
        wanted = said(given)
        check_said(engine, name, wanted)
        return Set(_create(engine, conn, owner, name, wanted, paused, actor), created=True, changed=True)


def pause_schedule(
    engine: Engine, which: str, *, app: str | None = None, reason: str | None = None, actor: str = "cli"
) -> str:
    """Let it fire no more until it is resumed; its id. Raises as `one_schedule`, and `Conflict` when it is paused."""
    with engine.db.transaction() as conn:
        row = one_schedule(conn, which, app)
        if row.paused_at is not None:
            raise Conflict(f"schedule '{row.name}' is paused already")
        schedules.pause_schedule(conn, row.id, actor, reason)
        tell(conn, actor, "pause_schedule", row, reason)
    return str(row.id)


def resume_schedule(
    engine: Engine, which: str, *, app: str | None = None, reason: str | None = None, actor: str = "cli"
) -> str:
    """Let it fire again, from now on; its id. Fire times of the pause are noted, and can be backfilled.

    Raises as `one_schedule`, and `Conflict` when it is not paused.
    """
    with engine.db.transaction() as conn:
        row = one_schedule(conn, which, app)
        if row.paused_at is None:
            raise Conflict(f"schedule '{row.name}' is not paused")
        firing = Firing(engine, conn, row)
        _note_pause(firing, row)
        following = firing.calendar.next_after(row.now)
        due_at = None if following is None else firing.calendar.due_at(following)
        schedules.resume_schedule(conn, row.id, following, due_at)
        tell(conn, actor, "resume_schedule", row, reason)
    return str(row.id)


def delete_schedule(
    engine: Engine, which: str, *, app: str | None = None, reason: str | None = None, actor: str = "cli"
) -> str:
    """Remove it; its id. Its runs go on and stay. Raises as `one_schedule`."""
    with engine.db.transaction() as conn:
        row = one_schedule(conn, which, app)
        schedules.delete_schedule(conn, row.id)
        tell(conn, actor, "delete_schedule", row, reason)
    return str(row.id)


def one_schedule(conn: Connection, which: str, app: str | None) -> Row[Any]:
    """The schedule of this name or id, locked. Raises `NotFound`, and `Conflict` for a name of several apps'."""
    rows = schedules.lock_schedules(conn, which, app)
    if len(rows) > 1:
        raise Conflict(f"schedules of several apps are named '{which}': say which app, or give the id")
    return rows[0]


def tell(conn: Connection, actor: str, action: str, row: Row[Any], reason: str | None = None, **more: Any) -> None:
    """Into the audit log."""
    told = {"schedule_id": row.id, "app": row.app} | more
    events.audit(conn, actor, action, "schedule", row.name, reason, told)


def _note_pause(firing: Firing, row: Row[Any]) -> None:
    first = row.next_fire_at
    if first is not None and first <= row.now:
        last = firing.calendar.last_before(row.now + timedelta(microseconds=1)) or first
        firing.pass_over([gap(firing.calendar, first, max(first, last), Passed.PAUSED)])


def _create(
    engine: Engine, conn: Connection, owner: Owner, name: str, wanted: dict[str, Any], paused: bool, actor: str
) -> str:
    check_start(engine, conn, owner, name, wanted)
    id = schedules.new_schedule_id()
    following, due_at = _following(calendar_of(id, wanted), read_now(conn))
    times = {"next_fire_at": following, "due_at": None if paused else due_at}
    if schedules.insert_schedule(conn, id, name, owner.id, wanted, paused=paused, actor=actor, **times) is None:
        raise Conflict(f"app '{owner.name}' has a schedule '{name}' already")
    data = {"schedule_id": id, "app": owner.name, **_rule(wanted)}
    events.audit(conn, actor, "create_schedule", "schedule", name, data=data)
    return id


def _change(engine: Engine, conn: Connection, row: Row[Any], given: Mapping[str, Any], actor: str) -> Set:
    before = dict(row._mapping)
    if "input" in given and given["input"] == shown_input(conn, row):  # as it was shown, without its secrets
        given = {**given, "input": row.input}
    wanted = said(given, before)
    check_said(engine, row.name, wanted)
    changed = [name for name, value in wanted.items() if _plain(value) != _plain(before[name])]
    if not changed:
        return Set(row.id, created=False, changed=False)
    check_start(engine, conn, _owner(conn, row), row.name, wanted)
    times = {"next_fire_at": row.next_fire_at, "due_at": row.due_at}
    if any(name in _RULE for name in changed):
        following, due_at = _following(calendar_of(row.id, wanted), row.now)
        times = {"next_fire_at": following, "due_at": due_at if row.paused_at is None else None}
    schedules.change_schedule(conn, row.id, wanted, actor=actor, **times)
    tell(conn, actor, "change_schedule", row, changed=sorted(changed))
    return Set(row.id, created=False, changed=True)


def _owner(conn: Connection, row: Row[Any]) -> Owner:
    return workflows.find_owner(conn, row.app, None)


def _following(calendar: Calendar, now: datetime) -> tuple[datetime | None, datetime | None]:
    following = calendar.next_after(now)
    return following, None if following is None else calendar.due_at(following)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _rule(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: wanted[name] for name in ("workflow", "cron", "interval_seconds", "timezone")}
