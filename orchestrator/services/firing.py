"""One schedule, locked: runs of it that have ended are noted, and runs of it started."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.calendar import Calendar
from orchestrator.domain.firing import MOST_COUNTED, Gap, Overlap, Passed, Standing, decide
from orchestrator.domain.states import RunStatus
from orchestrator.errors import Conflict, Locked, NotFound, OrchestratorError, Unreachable
from orchestrator.services.cancel import cancel
from orchestrator.services.engine import Engine
from orchestrator.services.schedule_spec import render_input
from orchestrator.services.start import Made, start_within, to_dispatch
from orchestrator.services.start_plain import StartOptions
from orchestrator.store import events, schedule_fires, schedules

LEAST_WINDOW = 10  # seconds: a coordinator looks once a second, and may be restarted
_MOST_STARTED = 10  # of those that wait, where the first cannot be started
_STILL_RUNS = {RunStatus.PENDING, RunStatus.RUNNING, RunStatus.PAUSED}


def actor_of(row: Row[Any]) -> str:
    """Who starts the runs of a schedule."""
    return f"schedule:{row.name}"


class Firing:
    """What is done to the schedule `row` within the transaction that has locked it; after that `follow`."""

    def __init__(self, engine: Engine, conn: Connection, row: Row[Any]) -> None:
        self.engine, self.conn, self.row = engine, conn, row
        self.calendar = Calendar.of(row.id, row.cron, row.interval_seconds, row.timezone, row.jitter_seconds)
        self.paused = row.paused_at is not None
        self._failures = row.failures_in_row
        self._made: list[Made] = []
        self._to_cancel: list[str] = []

    # Within the transaction.

    def note_ended(self) -> None:
        """Runs that have ended are open no more; too many failures in a row pause the schedule."""
        self._count_failures(schedule_fires.note_ended(self.conn, self.row.id))

    def is_open(self, *, backfill: bool = False) -> bool:
        """Whether a run is open, of fire times or of a backfill."""
        return any(run.backfill == backfill for run in schedule_fires.open_runs(self.conn, self.row.id))

    def fire(self) -> None:
        """Decide what is due, and do it."""
        row = self.row
        standing = Standing(
            now=row.now,
            next_fire=row.next_fire_at,
            overlap=Overlap(row.overlap),
            window=max(row.catchup_seconds, LEAST_WINDOW),
            open=self.is_open(),
            waiting=schedule_fires.count_waiting(self.conn, row.id),
        )
        decision = decide(self.calendar, standing)
        self.pass_over(decision.gaps)
        if decision.cancel:
            self.make_way()
        for fire_at in decision.wait:
            schedule_fires.add_fire(self.conn, row.id, fire_at, "due")
        for fire_at in decision.start:
            if schedule_fires.add_fire(self.conn, row.id, fire_at, "due"):
                self.begin(fire_at, 0)
        self.move_on(decision.next)
        self._count_failures(())

    def begin(self, fire_at: datetime, again: int) -> bool:
        """Start the run of a fire time that is to have one; False, and noted why, when that is not possible."""
        try:
            run_id = self.start(fire_at)
        except (Unreachable, Locked):
            raise
        except OrchestratorError as error:
            schedule_fires.set_refused(self.conn, self.row.id, fire_at, again, str(error))
            schedules.count_refused(self.conn, self.row.id, fire_at, str(error))
            self._failures += 1
            return False
        schedule_fires.set_started(self.conn, self.row.id, fire_at, again, run_id)
        return True

    def start(self, fire_at: datetime) -> str:
        """Start a run; its id. Raises as `start` does, and nothing is changed then."""
        row = self.row
        input = render_input(row.input, row.name, fire_at, row.now)
        options = StartOptions(row.app, row.tags, None, row.revision, actor=actor_of(row))
        with self.conn.begin_nested():
            made = start_within(self.engine, self.conn, row.workflow, input, options)
        self._made.append(made)
        schedules.count_started(self.conn, row.id, fire_at, made.started.run_id)
        return made.started.run_id

    def begin_waiting(self) -> None:
        """Start what waits for its turn, if it has come."""
        if not self.paused:
            for backfill in (False, True):
                self._begin_first(backfill=backfill)
            self._count_failures(())

    def _begin_first(self, *, backfill: bool) -> None:
        if self.is_open(backfill=backfill):
            if not backfill and self.row.overlap == Overlap.CANCEL_RUNNING and self._waits():
                self._cancel_open()
            return
        waiting = schedule_fires.list_waiting(self.conn, self.row.id, backfill=backfill, limit=_MOST_STARTED)
        for one in waiting:
            if self.begin(one.fire_at, one.again):
                return

    def _waits(self) -> bool:
        return schedule_fires.count_waiting(self.conn, self.row.id) > 0

    def pass_over(self, gaps: Sequence[Gap]) -> None:
        """Note fire times that get no run."""
        for gap in gaps:
            before = self.calendar.last_before(gap.first) if gap.reason is Passed.OVERLAP else None
            schedule_fires.note_gap(self.conn, self.row.id, gap, before)
            count = gap.count if gap.count is not None else MOST_COUNTED
            missed = gap.reason in (Passed.MISSED, Passed.PAUSED)
            told = {"skipped": 0, "missed": count} if missed else {"skipped": count, "missed": 0}
            schedules.count_passed(self.conn, self.row.id, **told)

    def make_way(self) -> None:
        """What waits gives way to a later fire time, and so does what runs."""
        dropped = schedule_fires.drop_waiting(self.conn, self.row.id)
        schedules.count_passed(self.conn, self.row.id, skipped=dropped, missed=0)
        self._cancel_open()

    def _cancel_open(self) -> None:
        runs = schedule_fires.open_runs(self.conn, self.row.id)
        self._to_cancel = [run.run_id for run in runs if not run.backfill and run.status in _STILL_RUNS]

    def move_on(self, next_fire_at: datetime | None) -> None:
        """The first fire time that is not decided."""
        due_at = None if next_fire_at is None else self.calendar.due_at(next_fire_at)
        schedules.move_on(self.conn, self.row.id, next_fire_at, due_at)

    def _count_failures(self, ends: Sequence[str]) -> None:
        for end in ends:
            if end == RunStatus.FAILED:
                self._failures += 1
            elif end == RunStatus.SUCCEEDED:
                self._failures = 0
        if self._failures != self.row.failures_in_row or ends:
            schedules.set_failures(self.conn, self.row.id, self._failures)
        most = self.row.max_failures
        if most and self._failures >= most and not self.paused:
            self._pause(f"{self._failures} runs in a row failed" if most > 1 else "a run failed")

    def _pause(self, reason: str) -> None:
        self.paused = True
        schedules.pause_schedule(self.conn, self.row.id, "engine", reason)
        told = {"schedule_id": self.row.id, "app": self.row.app}
        events.audit(self.conn, "engine", "pause_schedule", "schedule", self.row.name, reason, told)

    @property
    def cancels(self) -> bool:
        """Whether runs are canceled after the commit, so that what waits for them may begin."""
        return bool(self._to_cancel)

    # After its commit.

    def follow(self) -> frozenset[str]:
        """Cancel what gives way; the queues in which steps may start."""
        for run_id in self._to_cancel:
            reason = "the schedule's next run takes its place (cancel_running)"
            try:
                cancel(self.engine, run_id, reason=reason, actor=actor_of(self.row))
            except (Conflict, NotFound):  # it is ending by itself
                continue
        return frozenset(to_dispatch(self.engine, self._made))
