"""Shapes of schedules."""

from __future__ import annotations

from marshmallow import fields

from orchestrator.domain.firing import Overlap, Passed
from orchestrator.domain.states import RunStatus
from web.api.shapes.base import (
    Shape,
    a,
    a_or_null,
    at,
    at_or_null,
    flag,
    hidden_json,
    id_of,
    id_or_null,
    number,
    number_or_null,
    page_of,
    text,
    text_or_null,
    texts,
    told,
    word,
)

_FIRE = ("waiting", "dropped", "refused", "started", "succeeded", "failed", "canceled", "passed")


class LastRunShape(Shape):
    id = id_of()
    status = word(RunStatus)


class CountsShape(Shape):
    started = number("Fire times with a run.")
    skipped = number("Passed over, as the overlap policy says.")
    missed = number("Older than the catch-up window, or in a pause.")
    failed = number("Whose run could not be started.")


class ScheduleShape(Shape):
    id = id_of()
    name = text()
    app = text()
    workflow = text()
    revision = number_or_null("Null: the latest.")
    input = hidden_json("The runs' input, with templates.")
    tags = texts()
    cron = text_or_null()
    interval_seconds = number_or_null("In place of a cron expression.")
    timezone = text()
    catchup_seconds = number()
    overlap = word(Overlap)
    jitter_seconds = number()
    max_failures = number("0: never paused for failures.")
    paused = flag()
    paused_at = at_or_null()
    paused_by = text_or_null("`engine` after failures.")
    pause_reason = text_or_null()
    late = flag("Whether it was due more than a minute ago.")
    next_fire_at = at_or_null("Null while it is paused.")
    due_at = at_or_null("The next fire time with its jitter.")
    last_fire_at = at_or_null()
    last_run = a_or_null(LastRunShape)
    counts = a(CountsShape)
    failures_in_row = number()
    waiting = number("Runs that wait for their turn.")
    open_runs = number()
    error = text_or_null("Why the last run could not be started.")
    error_at = at_or_null()
    created_at = at()
    created_by = text()
    changed_at = at()
    changed_by = text()
    next_fires = fields.List(
        fields.String(metadata={"format": "date-time"}), metadata={"description": "The next five; not in lists."}
    )


class FireShape(Shape):
    fire_at = at()
    last_at = at_or_null("Of fire times in a row that were passed over: the last of them.")
    count = number_or_null("How many these are; null: more than are counted.")
    cause = word(("due", "manual", "backfill"))
    status = word(_FIRE, "Of its run, once that was started.")
    reason = fields.String(required=True, allow_none=True, **told("Why passed.", enum=[*map(str, Passed), None]))
    run_id = id_or_null()
    error = text_or_null("Why its run could not be started.")
    decided_at = at()
    again = number("How often it was backfilled before.")


class TimesShape(Shape):
    items = fields.List(fields.String(metadata={"format": "date-time"}), required=True)


class FiredShape(Shape):
    id = id_of()
    fire_at = at()
    run_id = id_or_null("Null: it waits for a run that is open.")


class BackfilledShape(Shape):
    id = id_of()
    count = number("How many runs are started.")
    had = number("How many fire times of the range have a run, and get none.")
    dry_run = flag()
    paused = flag("Whether the schedule is paused: runs that start one after another then wait.")
    fires = fields.List(fields.String(metadata={"format": "date-time"}), required=True)


SchedulePage = page_of(ScheduleShape)
FirePage = page_of(FireShape)
