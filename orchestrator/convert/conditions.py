"""`when`, `retry` and seconds of a task, in our words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.convert.grammar import read
from orchestrator.convert.marks import whole
from orchestrator.convert.printing import shown
from orchestrator.convert.report import Place, Report
from orchestrator.convert.scope import RESULT, End
from orchestrator.convert.syntax import Untranslatable, parts_of
from orchestrator.convert.tasks import split_condition
from orchestrator.convert.templates import Templates

_LATER = "let the function raise RetryLater"


def condition(when: Any, place: Place, templates: Templates) -> tuple[End, str | None]:
    """The end that a condition asks for, and the rest of it as an expression of ours."""
    if when is None or when is True:
        return End.COMPLETE, None
    source = whole(when) if isinstance(when, str) else None
    if source is None:
        return End.COMPLETE, templates.given_up(str(when), place, "is not one expression")
    try:
        end, rest = split_condition(read(source))
        if rest is None:
            return end, None
        scope = replace(templates.scope, end=templates.scope.end or end)
        made = replace(templates, scope=scope).rewritten(rest)
        if end is End.COMPLETE and RESULT in parts_of(made):
            why = "is looked at when the task succeeds: what failed has an error and no result"
            templates.report.note(place, why, step=templates.step)
            end = End.SUCCESS
        return end, shown(made)
    except Untranslatable as error:
        return _end_guessed(source), templates.given_up(str(when), place, str(error))


def _end_guessed(source: str) -> End:
    """The end that a condition asks for, of which the rest is not understood."""
    for word, end in (("succeeded()", End.SUCCESS), ("failed()", End.FAILURE)):
        if source.replace(" ", "").startswith(word):
            return end
    return End.COMPLETE


def seconds(value: Any, place: Place, templates: Templates) -> Any:
    """A number, or a template of one; None for nothing."""
    if isinstance(value, str) and value.strip().isdigit():
        return int(value) or None
    return templates.value(value, place) if value else None


def number(value: Mapping[str, Any], key: str, default: float, place: Place, templates: Templates) -> Any:
    """A number that must be written out here."""
    given = value.get(key, default)
    if isinstance(given, str) and given.strip().isdigit():
        return int(given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return given
    templates.report.lost((*place, key), f"'{given}' is no number", "write a number", step=templates.step)
    return default


def join_of(value: Any, place: Place, report: Report, step: str) -> str | int | None:
    """`all`, how many, or None where nothing is said."""
    if value is None or value == "all":
        return None if value is None else "all"
    if isinstance(value, int) and value > 0:
        return int(value)
    report.lost((*place, "join"), f"'{value}' is neither 'all' nor a number", step=step)
    return "all"


def retry_of(value: Any, place: Place, templates: Templates) -> dict[str, Any]:
    """Orquesta's `retry`: `count` further attempts."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        templates.report.lost(place, "is not a map", step=templates.step)
        return {}
    templates.report.unknown(value, ("when", "count", "delay"), place, templates.step)
    retry: dict[str, Any] = {"max_attempts": int(number(value, "count", 3, place, templates)) + 1}
    if delay := number(value, "delay", 0, place, templates):
        retry["delay"] = delay
    end, more = condition(value.get("when"), (*place, "when"), templates)
    if end is End.SUCCESS or (value.get("when") and end is End.COMPLETE):
        why = "only what fails is tried again here"
        templates.report.lost((*place, "when"), why, _LATER, step=templates.step)
    if more is not None:
        retry["while"] = more
    return {"retry": retry}
