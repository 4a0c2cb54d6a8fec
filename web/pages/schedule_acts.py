"""Fire, pause, resume, backfill and delete a schedule: asked for first, with what it will do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.roles import Role
from orchestrator.domain.times import read_time
from orchestrator.errors import Conflict, InvalidInput, NotFound, Problem
from orchestrator.services.backfill import Backfilled, Range, backfill
from orchestrator.services.fire_now import fire_now
from orchestrator.services.schedules import delete_schedule, pause_schedule, resume_schedule
from web.application import engine
from web.auth import actor
from web.pages.forms import beside
from web.pages.frame import done, needs, page_blueprint, render, show_errors
from web.pages.schedules import of_id

schedule_acts = page_blueprint("schedule_acts")

_VERBS = ("fire", "pause", "resume")
_FIELDS = {"first": "first", "until": "until", "range": "until"}


@schedule_acts.get("/schedules/act")
def ask() -> str:
    """What the act means."""
    return render("schedules/act.html", schedule=_meant(), verb=_verb(), given={}, errors={})


@schedule_acts.post("/schedules/act")
def do() -> Response:
    schedule, verb = _meant(), _verb()
    try:
        told, target = _do(schedule["id"], verb)
    except (Conflict, InvalidInput, NotFound) as error:
        return show_errors(
            "schedules/act.html", schedule=schedule, verb=verb, given=request.form, errors={"": str(error)}
        )
    return done(target, told)


def _do(id: str, verb: str) -> tuple[str, str]:
    """What to say of it, and where to go."""
    options: dict[str, Any] = {"reason": _reason(), "actor": actor()}
    page = url_for("schedules.show", id=id)
    if verb == "pause":
        pause_schedule(engine(), id, **options)
        return "The schedule is paused.", page
    if verb == "resume":
        resume_schedule(engine(), id, **options)
        return "The schedule fires again.", page
    fired = fire_now(engine(), id, force=request.form.get("force") == "yes", **options)
    if fired.run_id is None:
        return "The run waits for one that is open.", page
    return "A run was started.", url_for("run.show", run_id=fired.run_id)


@schedule_acts.get("/schedules/delete")
@needs(Role.AUTHOR)
def ask_delete() -> str:
    return render("schedules/delete.html", schedule=_meant())


@schedule_acts.post("/schedules/delete")
@needs(Role.AUTHOR)
def delete() -> Response:
    schedule = _meant()
    delete_schedule(engine(), schedule["id"], reason=_reason(), actor=actor())
    return done(url_for("schedules.index"), f"The schedule '{schedule['name']}' is deleted.")


@schedule_acts.get("/schedules/backfill")
def ask_backfill() -> str:
    """The range; the last day to begin with."""
    since = datetime.now(UTC) - timedelta(days=1)
    given = {"first": f"{since:%Y-%m-%dT%H:%M}"}
    return render("schedules/backfill.html", schedule=_meant(), given=given, errors={}, found=None)


@schedule_acts.post("/schedules/backfill")
def fill() -> Response:
    """First what would be started, then, once that was seen, starting it."""
    schedule, given = _meant(), request.form
    seen = given.get("seen") == _range_text()
    try:
        found = _backfill(schedule["id"], dry_run=not seen)
    except (Conflict, InvalidInput, NotFound) as error:
        errors = beside(error, _FIELDS)
        return show_errors("schedules/backfill.html", schedule=schedule, given=given, errors=errors, found=None)
    if not seen or not found.fires:
        values: dict[str, Any] = {
            "found": found,
            "seen": _range_text(),
            "times": [at.isoformat() for at in found.fires],
        }
        return show_errors("schedules/backfill.html", schedule=schedule, given=given, errors={}, **values)
    runs = "run is" if len(found.fires) == 1 else "runs are"
    told = "started" if given.get("at_once") == "yes" else "started, one after another"
    return done(url_for("schedules.show", id=schedule["id"]), f"{len(found.fires):,} {runs} {told}.")


def _backfill(id: str, *, dry_run: bool) -> Backfilled:
    form = request.form
    first, until = _moment("first"), _moment("until")
    if first is None:
        raise InvalidInput([_wrong("first")], "the range is not clear")
    if until is None and form.get("until", "").strip():
        raise InvalidInput([_wrong("until")], "the range is not clear")
    wanted = Range(first, until, form.get("all") == "yes", form.get("at_once") == "yes")
    return backfill(engine(), id, wanted, dry_run=dry_run, reason=_reason(), actor=actor())


def _wrong(field: str) -> Problem:
    return Problem(field, "is not a time", "2026-11-29T17:00, in UTC")


def _range_text() -> str:
    """What of the form decides which runs are started: seen once, it may not have changed meanwhile."""
    return " ".join(request.form.get(name, "") for name in ("first", "until", "all", "at_once"))


def _moment(field: str) -> datetime | None:
    at = read_time(request.form.get(field, "").strip())
    return at if at is not None and 1970 < at.year < 9000 else None


def _meant() -> dict[str, Any]:
    return of_id(request.args.get("id", ""))


def _verb() -> str:
    verb = request.args.get("verb", "")
    if verb not in _VERBS:
        raise NotFound(f"there is no act '{verb}'")
    return verb


def _reason() -> str | None:
    return request.form.get("reason", "").strip() or None
