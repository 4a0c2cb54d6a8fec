"""Schedules: their rows, what is due, and how they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.near import did_you_mean
from orchestrator.errors import NotFound
from orchestrator.ids import is_id, new_id
from orchestrator.store.transition import as_text
from orchestrator.store.workflows import name_key

# What a person says of a schedule.
SAID = (
    "workflow",
    "revision",
    "input",
    "tags",
    "cron",
    "interval_seconds",
    "timezone",
    "catchup_seconds",
    "overlap",
    "jitter_seconds",
    "max_failures",
)

_INSERT = text("""
INSERT INTO schedules (id, name, name_key, app_id, workflow, workflow_key, revision, input, tags, cron,
  interval_seconds, timezone, catchup_seconds, overlap, jitter_seconds, max_failures, paused_at, paused_by,
  next_fire_at, due_at, created_by, changed_by)
VALUES (:id, :name, :key, :app_id, :workflow, :workflow_key, :revision, CAST(:input AS json), CAST(:tags AS text[]),
  :cron, :interval_seconds, :timezone, :catchup_seconds, :overlap, :jitter_seconds, :max_failures,
  CASE WHEN :paused THEN orchestrator_now() END, CASE WHEN :paused THEN :actor END, :next_fire_at, :due_at, :actor,
  :actor)
ON CONFLICT (app_id, name_key) DO NOTHING RETURNING id
""")
_CHANGE = text("""
UPDATE schedules SET workflow = :workflow, workflow_key = :workflow_key, revision = :revision,
  input = CAST(:input AS json), tags = CAST(:tags AS text[]), cron = :cron, interval_seconds = :interval_seconds,
  timezone = :timezone, catchup_seconds = :catchup_seconds, overlap = :overlap, jitter_seconds = :jitter_seconds,
  max_failures = :max_failures, next_fire_at = :next_fire_at, due_at = :due_at, error = NULL, error_at = NULL,
  changed_at = orchestrator_now(), changed_by = :actor
WHERE id = :id
""")


def new_schedule_id() -> str:
    return new_id()


def insert_schedule(
    conn: Connection, id: str, name: str, app_id: str, said: Mapping[str, Any], **more: Any
) -> str | None:
    """Store it; None when the app has one of this name. `more`: next_fire_at, due_at, paused, actor."""
    values = {"id": id, "name": name, "key": name_key(name), "app_id": app_id} | _values(said) | more
    return conn.execute(_INSERT, values).scalar()


def change_schedule(conn: Connection, id: str, said: Mapping[str, Any], **more: Any) -> None:
    """Store what is said of it now; its error, if it had one, is forgotten. `more`: next_fire_at, due_at, actor."""
    conn.execute(_CHANGE, {"id": id} | _values(said) | more)


def _values(said: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: said[name] for name in SAID}
    told = {"input": as_text(said["input"]) or "null", "tags": list(said["tags"])}
    return shown | told | {"workflow_key": name_key(said["workflow"]), "overlap": str(said["overlap"])}


_ROW = """
SELECT s.*, a.name AS app, orchestrator_now() AS now FROM schedules s JOIN apps a ON a.id = s.app_id
"""
_LOCK = text(f"""
{_ROW} WHERE (CAST(:app AS text) IS NULL OR a.name_key = :app) AND (s.name_key = :key OR s.id = CAST(:id AS uuid))
ORDER BY s.id FOR UPDATE OF s
""")
_NAMES = text("""
SELECT s.name FROM schedules s JOIN apps a ON a.id = s.app_id
WHERE CAST(:app AS text) IS NULL OR a.name_key = :app ORDER BY s.name_key LIMIT 2000
""")
_TAKE = text(f"{_ROW} WHERE s.id = :id FOR UPDATE OF s SKIP LOCKED")
_FIND_DUE = text("SELECT id FROM schedules WHERE due_at <= orchestrator_now() ORDER BY due_at LIMIT :limit")


def lock_schedules(conn: Connection, which: str, app: str | None) -> Sequence[Row[Any]]:
    """The schedules of this name or id, of one app or (None) of any, locked; raises `NotFound` naming a near one."""
    of_app = {"app": name_key(app) if app is not None else None}
    values = of_app | {"key": name_key(which), "id": which if is_id(which) else None}
    rows = conn.execute(_LOCK, values).all()
    if not rows:
        names = conn.execute(_NAMES, of_app).scalars().all()
        raise NotFound(f"there is no schedule '{which}'{did_you_mean(which, names)}")
    return rows


def find_schedule(conn: Connection, app: str, name: str) -> Row[Any] | None:
    """The app's schedule of this name, locked; None when there is none."""
    return conn.execute(_LOCK, {"app": name_key(app), "key": name_key(name), "id": None}).first()


def find_due(conn: Connection, limit: int) -> list[str]:
    """Those that are due, the most overdue first."""
    return list(conn.execute(_FIND_DUE, {"limit": limit}).scalars())


def take_schedule(conn: Connection, id: str) -> Row[Any] | None:
    """The schedule, locked; None while somebody else has it, or when it is gone."""
    return conn.execute(_TAKE, {"id": id}).first()


_MOVE = text("""
UPDATE schedules SET next_fire_at = :next_fire_at, due_at = CASE WHEN paused_at IS NULL THEN :due_at END WHERE id = :id
""")
_PAUSE = text("""
UPDATE schedules SET paused_at = orchestrator_now(), paused_by = :actor, pause_reason = :reason, due_at = NULL
WHERE id = :id
""")
_RESUME = text("""
UPDATE schedules SET paused_at = NULL, paused_by = NULL, pause_reason = NULL, failures_in_row = 0,
  next_fire_at = :next_fire_at, due_at = :due_at WHERE id = :id
""")


def move_on(conn: Connection, id: str, next_fire_at: datetime | None, due_at: datetime | None) -> None:
    """The first fire time that is not decided, and when it is due."""
    conn.execute(_MOVE, {"id": id, "next_fire_at": next_fire_at, "due_at": due_at})


def pause_schedule(conn: Connection, id: str, actor: str, reason: str | None) -> None:
    """It fires no more until it is resumed."""
    conn.execute(_PAUSE, {"id": id, "actor": actor, "reason": reason})


def resume_schedule(conn: Connection, id: str, next_fire_at: datetime | None, due_at: datetime | None) -> None:
    """It fires again, from this time on; its failures in a row are forgotten."""
    conn.execute(_RESUME, {"id": id, "next_fire_at": next_fire_at, "due_at": due_at})


# Counters outlive the schedule: /metrics may not see them fall.
_KEEP = text("""
INSERT INTO metric_counts AS c (name, app, workflow, count)
SELECT k.name, a.name, s.workflow, k.count FROM schedules s JOIN apps a ON a.id = s.app_id CROSS JOIN LATERAL (VALUES
  ('schedule.started', s.started_count), ('schedule.skipped', s.skipped_count), ('schedule.missed', s.missed_count),
  ('schedule.failed', s.failed_count)) AS k (name, count)
WHERE s.id = :id AND k.count > 0 ORDER BY 1
ON CONFLICT (name, app, workflow) DO UPDATE SET count = c.count + excluded.count
""")


def delete_schedule(conn: Connection, id: str) -> None:
    """Remove it with what was decided at its fire times; its runs stay."""
    conn.execute(_KEEP, {"id": id})
    conn.execute(text("DELETE FROM schedules WHERE id = :id"), {"id": id})


# A backfill is not the last fire time.
_STARTED = text("""
UPDATE schedules SET started_count = started_count + 1, error = NULL, error_at = NULL,
  last_run_id = CASE WHEN :fire_at < last_fire_at THEN last_run_id ELSE CAST(:run_id AS uuid) END,
  last_fire_at = greatest(last_fire_at, :fire_at)
WHERE id = :id
""")
_REFUSED = text("""
UPDATE schedules SET error = :error, error_at = orchestrator_now(), failed_count = failed_count + 1,
  last_fire_at = greatest(last_fire_at, :fire_at) WHERE id = :id
""")
_PASSED = text("""
UPDATE schedules SET skipped_count = skipped_count + :skipped, missed_count = missed_count + :missed WHERE id = :id
""")
_FAILURES = text("UPDATE schedules SET failures_in_row = :count WHERE id = :id")
_TROUBLE = text("""
UPDATE schedules SET error = :error, error_at = orchestrator_now(),
  due_at = orchestrator_now() + make_interval(secs => :seconds) WHERE id = :id AND due_at IS NOT NULL
""")


def count_started(conn: Connection, id: str, fire_at: datetime, run_id: str) -> None:
    """A run of it was started."""
    conn.execute(_STARTED, {"id": id, "fire_at": fire_at, "run_id": run_id})


def count_refused(conn: Connection, id: str, fire_at: datetime, error: str) -> None:
    """Its run could not be started."""
    conn.execute(_REFUSED, {"id": id, "fire_at": fire_at, "error": error})


def count_passed(conn: Connection, id: str, *, skipped: int, missed: int) -> None:
    """So many fire times were passed over."""
    conn.execute(_PASSED, {"id": id, "skipped": skipped, "missed": missed})


def set_failures(conn: Connection, id: str, count: int) -> None:
    """How many of its runs have failed in a row."""
    conn.execute(_FAILURES, {"id": id, "count": count})


def note_trouble(conn: Connection, id: str, error: str, seconds: float) -> None:
    """What went wrong with it, and when it is tried again; nobody expected it to."""
    conn.execute(_TROUBLE, {"id": id, "error": error, "seconds": seconds})
