"""The client's verbs on schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack

from orchestrator.services.actor import acting_user
from orchestrator.services.backfill import Backfilled, Range, backfill
from orchestrator.services.engine import Engine
from orchestrator.services.fire_now import Fired, fire_now
from orchestrator.services.pages import every
from orchestrator.services.schedules import Set, delete_schedule, pause_schedule, resume_schedule, set_schedule
from orchestrator.store.reads.schedules import get_schedule, list_fires, list_schedules, next_fires


class Rule(TypedDict, total=False):
    """What is said of a schedule (docs/schedules.md); `cron` or `interval_seconds`."""

    workflow: str
    revision: int | None
    input: Any
    tags: Sequence[str]
    cron: str | None
    interval_seconds: int | None
    timezone: str
    catchup_seconds: int
    overlap: str
    jitter_seconds: int
    max_failures: int


class Schedules:
    """Part of `Orchestrator`. A schedule is meant by its name or id."""

    engine: Engine

    def set_schedule(self, name: str, app: str | None = None, paused: bool = False, **rule: Unpack[Rule]) -> Set:
        """Make a schedule, or change what is given of one. Raises `InvalidInput` with all problems, `NotFound`."""
        given: dict[str, Any] = {**rule}
        return set_schedule(self.engine, name, given, app=app, paused=paused, actor=acting_user("python"))

    def schedules(self, app: str | None = None, workflow: str | None = None) -> Iterator[dict[str, Any]]:
        """Schedules by name, read page by page."""
        yield from every(self.engine.db, lambda conn, after: list_schedules(conn, after, app=app, workflow=workflow))

    def schedule(self, name: str, app: str | None = None) -> dict[str, Any]:
        """A schedule with its `next_fires`; raises `NotFound`."""
        with self.engine.db.transaction() as conn:
            return get_schedule(conn, name, app=app)

    def schedule_fires(self, name: str, app: str | None = None) -> Iterator[dict[str, Any]]:
        """What was decided at the fire times of a schedule, latest first, read page by page; raises `NotFound`."""
        yield from every(self.engine.db, lambda conn, after: list_fires(conn, name, after, app=app))

    def next_fires(
        self, name: str, app: str | None = None, count: int = 10, after: datetime | None = None
    ) -> list[datetime]:
        """The next fire times, in UTC; raises `NotFound`."""
        with self.engine.db.transaction() as conn:
            found = next_fires(conn, name, app=app, after=after, count=count)
        return [datetime.fromisoformat(at) for at in found]

    def pause_schedule(self, name: str, app: str | None = None, *, reason: str | None = None) -> None:
        """Let it fire no more until it is resumed. Raises `NotFound` and `Conflict`."""
        pause_schedule(self.engine, name, app=app, reason=reason, actor=acting_user("python"))

    def resume_schedule(self, name: str, app: str | None = None, *, reason: str | None = None) -> None:
        """Let it fire again, from now on. Raises `NotFound` and `Conflict`."""
        resume_schedule(self.engine, name, app=app, reason=reason, actor=acting_user("python"))

    def fire_schedule(
        self, name: str, app: str | None = None, *, force: bool = False, reason: str | None = None
    ) -> Fired:
        """Start a run of it now; `force`: also while one is open. Raises `NotFound` and `Conflict`."""
        return fire_now(self.engine, name, app=app, force=force, reason=reason, actor=acting_user("python"))

    def backfill(
        self,
        name: str,
        first: datetime,
        until: datetime | None = None,
        app: str | None = None,
        *,
        all: bool = False,
        at_once: bool = False,
        dry_run: bool = False,
        reason: str | None = None,
    ) -> Backfilled:
        """Start runs for fire times from `first` to before `until` (now) that have none; `all`: for each.

        Times without a zone are this machine's. Raises `NotFound` and `InvalidInput`.
        """
        wanted = Range(first.astimezone(), None if until is None else until.astimezone(), all, at_once)
        told: dict[str, Any] = {"dry_run": dry_run, "app": app, "reason": reason}
        return backfill(self.engine, name, wanted, actor=acting_user("python"), **told)

    def delete_schedule(self, name: str, app: str | None = None, *, reason: str | None = None) -> None:
        """Delete it; its runs go on. Raises `NotFound`."""
        delete_schedule(self.engine, name, app=app, reason=reason, actor=acting_user("python"))
