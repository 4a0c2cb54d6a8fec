"""Schedules: what starts runs by a clock."""

from __future__ import annotations

from typing import Any

from flask import Response, url_for
from marshmallow import fields

from orchestrator.domain.firing import Overlap
from orchestrator.domain.roles import Role
from orchestrator.services.backfill import Range, backfill
from orchestrator.services.fire_now import fire_now
from orchestrator.services.schedule_spec import preview
from orchestrator.services.schedules import (
    change_schedule,
    create_schedule,
    delete_schedule,
    pause_schedule,
    resume_schedule,
)
from orchestrator.store.reads.page import iso
from orchestrator.store.reads.schedules import (
    MOST_NEXT,
    STANDINGS,
    get_schedule,
    list_fires,
    list_schedules,
    next_fires,
)
from web.api.fields import AnyJson, Count, Name, OfApp, Paged, Strict, Text, When, absent, one_of
from web.api.noun import Noun, answered, paged
from web.api.shapes.schedules import BackfilledShape, FiredShape, FirePage, SchedulePage, ScheduleShape, TimesShape
from web.api.use import app_seen
from web.application import database, engine
from web.auth import actor

schedules = Noun("schedules", "Schedules: what starts runs by a clock. A schedule is meant by its name or its id.")

_REASON = {"description": "Why, for the audit log."}


class SchedulesQuery(Paged, OfApp):
    """Which schedules."""

    workflow = Name(load_default=absent, metadata={"description": "That start this workflow."})
    standing = one_of(STANDINGS, load_default=absent, metadata={"description": "That are so."})


class FiresQuery(Paged, OfApp):
    """Which fire times."""


class NextQuery(OfApp):
    """How many fire times, and from when on."""

    count = Count(least=1, most=MOST_NEXT, load_default=10)
    after = When(load_default=absent, metadata={"description": "Default: now."})


class DeleteQuery(OfApp):
    """Which, and why."""

    reason = Text(load_default=absent, metadata=_REASON)


class RuleBody(Strict):
    """When: a cron expression in a time zone, or an interval."""

    cron = Text(allow_none=True, metadata={"description": "Five fields: minute hour day-of-month month day-of-week."})
    interval_seconds = Count(least=1, allow_none=True, metadata={"description": "Counted from 1970 in UTC."})
    timezone = Name(metadata={"description": "IANA time zone of the cron expression; default: UTC."})


class ChangeBody(RuleBody):
    """What is to be so from now on; what is left out stays."""

    workflow = Name(metadata={"description": "What is started, as the app sees it."})
    revision = Count(least=1, allow_none=True, metadata={"description": "Default: the latest."})
    input = AnyJson(metadata={"description": "The runs' input; templates in it may name `fire_at` and `schedule`."})
    tags = fields.List(Text(most=255), metadata={"description": "In addition to those of the workflow."})
    catchup_seconds = Count(metadata={"description": "A fire time not older than this gets its run late; 3600."})
    overlap = one_of(Overlap, metadata={"description": "At a fire time while a run is open; skip."})
    jitter_seconds = Count(metadata={"description": "Each run starts up to so much later; 0."})
    max_failures = Count(metadata={"description": "It is paused after so many failed runs in a row; 0: never."})


class NewBody(ChangeBody):
    """A schedule."""

    name = Name(required=True)
    app = Name(load_default=None, allow_none=True, metadata={"description": "Whose it is; default: the configured."})
    paused = fields.Boolean(load_default=False)


class WhyBody(Strict):
    """Why."""

    reason = Text(load_default=None, allow_none=True, metadata=_REASON)


class FireBody(WhyBody):
    """How."""

    force = fields.Boolean(load_default=False, metadata={"description": "Also while a run of it is open."})


class BackfillBody(WhyBody):
    """Which fire times, and how."""

    first = When(required=True, metadata={"description": "From this time on."})
    until = When(load_default=None, allow_none=True, metadata={"description": "Up to before this; default: now."})
    all = fields.Boolean(load_default=False, metadata={"description": "Also those that have a run: each gets another."})
    at_once = fields.Boolean(load_default=False, metadata={"description": "Side by side, not one after another."})
    dry_run = fields.Boolean(load_default=False, metadata={"description": "Only say which these are."})


@schedules.get("/schedules", SchedulePage, query=SchedulesQuery, refused=(404,))
def list_all(query: dict[str, Any]) -> Response:
    """List schedules by name"""
    chosen = {"workflow": query["workflow"], "standing": query["standing"]}
    with database().transaction() as conn:
        return paged(list_schedules(conn, query["after"], query["limit"], app=app_seen(query["app"]), **chosen))


@schedules.post("/schedules", ScheduleShape, role=Role.AUTHOR, status=201, body=NewBody, refused=(404, 409))
def create(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Make a schedule

    422 with every problem; 404: the app sees no such workflow; 409: the app has a schedule of this name.
    """
    more = {"app": app_seen(body["app"]), "paused": body["paused"], "actor": actor()}
    id = create_schedule(engine(), body["name"], body, **more)
    return answered(_shown(id, None), 201, Location=url_for("api-schedules.show", which=id))


@schedules.post("/schedules/preview", TimesShape, role=Role.VIEWER, body=RuleBody)
def preview_rule(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Tell the next fire times of a rule

    Nothing is stored.
    """
    return answered({"items": [iso(at) for at in preview(body, 5)]})


@schedules.get("/schedules/<which>", ScheduleShape, query=OfApp, refused=(404,))
def show(query: dict[str, Any], which: str) -> Response:
    """Show a schedule with its next fire times"""
    return answered(_shown(which, app_seen(query["app"])))


@schedules.add(
    "PATCH", "/schedules/<which>", Role.AUTHOR, ScheduleShape, query=OfApp, body=ChangeBody, refused=(404, 409)
)
def change(query: dict[str, Any], body: dict[str, Any], which: str) -> Response:
    """Change a schedule

    What is left out stays. An input that is sent as it is shown, with `***` for its secret fields, stays too.
    409: schedules of several apps have this name.
    """
    done = change_schedule(engine(), which, body, app=app_seen(query["app"]), actor=actor())
    return answered(_shown(done.id, None))


@schedules.add("DELETE", "/schedules/<which>", Role.AUTHOR, None, status=204, query=DeleteQuery, refused=(404, 409))
def delete(query: dict[str, Any], which: str) -> Response:
    """Delete a schedule

    Its runs go on, and stay.
    """
    delete_schedule(engine(), which, app=app_seen(query["app"]), reason=query["reason"], actor=actor())
    return Response(status=204)


@schedules.get("/schedules/<which>/fires", FirePage, query=FiresQuery, refused=(404,))
def fires(query: dict[str, Any], which: str) -> Response:
    """List what was decided at the fire times of a schedule, latest first"""
    with database().transaction() as conn:
        return paged(list_fires(conn, which, query["after"], query["limit"], app=app_seen(query["app"])))


@schedules.get("/schedules/<which>/next", TimesShape, query=NextQuery, refused=(404,))
def next_ones(query: dict[str, Any], which: str) -> Response:
    """List the next fire times of a schedule

    Also of one that is paused, as if it were not.
    """
    given = {"after": query["after"], "count": query["count"]}
    with database().transaction() as conn:
        return answered({"items": next_fires(conn, which, app=app_seen(query["app"]), **given)})


_ACT: dict[str, Any] = {"role": Role.OPERATOR, "query": OfApp, "refused": (404, 409)}


@schedules.post("/schedules/<which>/pause", ScheduleShape, body=WhyBody, **_ACT)
def pause(query: dict[str, Any], body: dict[str, Any], which: str) -> Response:
    """Let a schedule fire no more until it is resumed"""
    id = pause_schedule(engine(), which, app=app_seen(query["app"]), reason=body["reason"], actor=actor())
    return answered(_shown(id, None))


@schedules.post("/schedules/<which>/resume", ScheduleShape, body=WhyBody, **_ACT)
def resume(query: dict[str, Any], body: dict[str, Any], which: str) -> Response:
    """Let a paused schedule fire again, from now on"""
    id = resume_schedule(engine(), which, app=app_seen(query["app"]), reason=body["reason"], actor=actor())
    return answered(_shown(id, None))


@schedules.post("/schedules/<which>/fire", FiredShape, body=FireBody, **_ACT)
def fire(query: dict[str, Any], body: dict[str, Any], which: str) -> Response:
    """Start a run of a schedule now

    409: a run of it is open, and its overlap policy is `skip`.
    """
    how = {"force": body["force"], "reason": body["reason"], "actor": actor()}
    fired = fire_now(engine(), which, app=app_seen(query["app"]), **how)
    return answered({"id": fired.id, "fire_at": iso(fired.fire_at), "run_id": fired.run_id})


@schedules.post("/schedules/<which>/backfill", BackfilledShape, body=BackfillBody, **_ACT)
def fill(query: dict[str, Any], body: dict[str, Any], which: str) -> Response:
    """Start runs for fire times of the past

    Those of the range that have none, one after another. With `dry_run` nothing is started.
    """
    wanted = Range(body["first"], body["until"], body["all"], body["at_once"])
    how = {"dry_run": body["dry_run"], "reason": body["reason"], "actor": actor()}
    found = backfill(engine(), which, wanted, app=app_seen(query["app"]), **how)
    times = [iso(at) for at in found.fires]
    told = {"had": found.had, "dry_run": found.dry_run, "paused": found.paused, "fires": times}
    return answered({"id": found.id, "count": len(times)} | told)


def _shown(which: str, app: str | None) -> dict[str, Any]:
    with database().transaction() as conn:
        return get_schedule(conn, which, app=app)
