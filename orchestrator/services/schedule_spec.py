"""What a person may say of a schedule, checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.calendar import Calendar
from orchestrator.domain.cron import cron_problems, zone_problems
from orchestrator.domain.describe import clean_text
from orchestrator.domain.expressions import compile_template
from orchestrator.domain.firing import Overlap
from orchestrator.domain.values import storable
from orchestrator.errors import ExpressionError, InvalidInput, NotFound, Problem, UnstorableValue
from orchestrator.services.engine import Engine
from orchestrator.services.start_plain import checked_input
from orchestrator.store import workflows
from orchestrator.store.clock import read_now
from orchestrator.store.workflows import Owner, Revision

SCOPE = ("fire_at", "schedule")  # what a template of the input may name
DEFAULTS: Mapping[str, Any] = {
    "workflow": None,
    "revision": None,
    "input": {},
    "tags": (),
    "cron": None,
    "interval_seconds": None,
    "timezone": "UTC",
    "catchup_seconds": 3600,
    "overlap": Overlap.SKIP.value,
    "jitter_seconds": 0,
    "max_failures": 0,
}
_YEAR = 366 * 86_400
# Whole numbers, from and to.
_RANGES = {
    "interval_seconds": (1, _YEAR),
    "catchup_seconds": (0, _YEAR),
    "jitter_seconds": (0, 86_400),
    "max_failures": (0, 1_000),
    "revision": (1, 2**31 - 1),
}
_MOST_TAGS = 50
_HEADLINE = "the schedule is invalid"


def said(given: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What holds with what is given now; what is not given stays as before. A cron expression takes the place of an
    interval, and the other way round."""
    held = {name: (before or DEFAULTS)[name] for name in DEFAULTS}
    if given.get("cron") is not None and given.get("interval_seconds") is None:
        held["interval_seconds"] = None
    if given.get("interval_seconds") is not None and given.get("cron") is None:
        held["cron"] = None
    return held | {name: value for name, value in given.items() if name in DEFAULTS}


def check_said(engine: Engine, name: str, said: Mapping[str, Any]) -> None:
    """Raises `InvalidInput` with all that is wrong."""
    problems = [*_name_problems(name), *_rule_problems(said), *_number_problems(said), *_other_problems(engine, said)]
    if problems:
        raise InvalidInput(problems, _HEADLINE)


def calendar_of(id: str, said: Mapping[str, Any]) -> Calendar:
    """When it fires; raises `InvalidInput`."""
    return Calendar.of(id, said["cron"], said["interval_seconds"], said["timezone"], said["jitter_seconds"])


def preview(given: Mapping[str, Any], count: int, after: datetime | None = None) -> list[datetime]:
    """The next fire times with what is given of the rule: `cron` and `timezone`, or `interval_seconds`.

    Needs no database: without `after` by this machine's clock. Raises `InvalidInput` with all that is wrong.
    """
    wanted = said(given)
    problems = [*_rule_problems(wanted), *_number_problems(wanted)]
    if problems:
        raise InvalidInput(problems, _HEADLINE)
    calendar, found = calendar_of("", wanted), [after or datetime.now(UTC)]
    while len(found) <= count and (following := calendar.next_after(found[-1])) is not None:
        found.append(following)
    return found[1:]


def check_start(engine: Engine, conn: Connection, app: Owner, name: str, said: Mapping[str, Any]) -> None:
    """Whether a run could be started now. Raises `NotFound` for the workflow, `InvalidInput` for the input."""
    revision = _revision(conn, app, said["workflow"], said["revision"])
    now = read_now(conn)
    input = render_input(said["input"], name, now, now)
    checked_input(engine, engine.plans.of(revision), {} if input is None else input)


def _revision(conn: Connection, app: Owner, name: str, number: int | None) -> Revision:
    latest = workflows.get_revision(conn, app.name, name)
    found = latest if number is None else workflows.find_numbered(conn, latest.workflow_id, number)
    if found is None:
        raise NotFound(f"workflow '{name}' has no revision {number}")
    return found


def render_input(template: Any, name: str, fire_at: datetime, now: datetime) -> Any:
    """The input of the run of this fire time; raises `InvalidInput`."""
    scope = {"fire_at": fire_at.astimezone(UTC).isoformat(), "schedule": name, "__now__": now}
    try:
        return compile_template(template).render(scope)
    except ExpressionError as error:
        raise InvalidInput([Problem("input", str(error))], _HEADLINE) from error


def _name_problems(name: str) -> Iterator[Problem]:
    if not name.strip() or len(name) > 255 or not name.isprintable():
        yield Problem("name", "must be 1 to 255 printable characters")


def _rule_problems(said: Mapping[str, Any]) -> Iterator[Problem]:
    if (said["cron"] is None) == (said["interval_seconds"] is None):
        yield Problem("cron", "give a cron expression or an interval in seconds", "one of them")
    if isinstance(said["cron"], str):
        yield from cron_problems(said["cron"])
    elif said["cron"] is not None:
        yield Problem("cron", "must be text")
    if isinstance(said["timezone"], str):
        yield from zone_problems(said["timezone"])
    else:
        yield Problem("timezone", "must be text")


def _number_problems(said: Mapping[str, Any]) -> Iterator[Problem]:
    for name, (least, most) in _RANGES.items():
        value = said[name]
        if value is None and name in ("interval_seconds", "revision"):
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            yield Problem(name, f"must be a whole number from {least} to {most}")


def _other_problems(engine: Engine, said: Mapping[str, Any]) -> Iterator[Problem]:
    if not isinstance(said["workflow"], str) or not said["workflow"].strip() or not said["workflow"].isprintable():
        yield Problem("workflow", "must be the name of a workflow")
    if said["overlap"] not in list(Overlap):
        yield Problem("overlap", f"must be one of {', '.join(Overlap)}")
    tags = said["tags"]
    fit = not isinstance(tags, str) and len(tags) <= _MOST_TAGS and all(isinstance(t, str) for t in tags)
    if not fit or any(clean_text(tag, 255) != tag for tag in tags):
        yield Problem("tags", f"must be {_MOST_TAGS} texts at most, of 255 characters at most")
    yield from _input_problems(said["input"], engine.settings.max_output_bytes)


def _input_problems(template: Any, most_bytes: int) -> Iterator[Problem]:
    try:
        storable(template, max_bytes=most_bytes)
        odd = compile_template(template).references.roots - set(SCOPE)
    except (ExpressionError, UnstorableValue) as error:
        yield Problem("input", str(error))
        return
    if odd:
        yield Problem("input", f"there is no {', '.join(sorted(odd))} here: a schedule has {', '.join(SCOPE)}")
