"""The filters of the runs page, as its address says them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import url_for
from werkzeug.datastructures import MultiDict

from orchestrator.domain.states import RunStatus
from orchestrator.domain.times import read_time
from orchestrator.domain.where import read_all, read_where
from orchestrator.errors import InvalidInput
from orchestrator.store.reads import RunFilters

RANGES: Mapping[str, timedelta] = {
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
RANGE_WORDS = {
    "1h": "last hour",
    "6h": "last 6 hours",
    "24h": "last 24 hours",
    "7d": "last 7 days",
    "30d": "last 30 days",
}
SHOWN_RANGE = "24h"  # of the histogram, when none is chosen
_STATUSES: frozenset[str] = frozenset(RunStatus)
_VALUE = re.compile(r'(?<!\S)input[.\[](?:"(?:[^"\\]|\\.)*"|[^\s"=])+=(?:"(?:[^"\\]|\\.)*"|\S*)')
_KEYED = re.compile(r'(workflow|status|app|tag|error|schedule):(?:"([^"]*)"|(\S+))')


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that holds; `without` is the address of the page that is rid of it."""

    kind: str
    text: str
    without: str


@dataclass(frozen=True, slots=True)
class RunQuery:
    """What the address asks for. `range` is a key of RANGES; `since` and `until` are what a click narrowed it to."""

    workflow: str = ""
    statuses: tuple[str, ...] = ()
    app: str = ""
    tags: tuple[str, ...] = ()
    range: str = ""
    since: datetime | None = None
    until: datetime | None = None
    error: str = ""
    where: tuple[str, ...] = ()
    roots: bool = False
    schedule: str = ""

    @classmethod
    def of(cls, given: MultiDict[str, str]) -> RunQuery:
        """What makes no sense in an address is passed over."""
        known = tuple(status for status in dict.fromkeys(given.getlist("status")) if status in _STATUSES)
        return cls(
            workflow=given.get("workflow", "").strip(),
            statuses=known,
            app=given.get("app", "").strip(),
            tags=tuple(tag for tag in dict.fromkeys(given.getlist("tag")) if tag),
            range=given.get("range", "") if given.get("range") in RANGES else "",
            since=_moment(given.get("since")),
            until=_moment(given.get("until")),
            error=given.get("error", "").strip(),
            where=tuple(filter(_is_where, dict.fromkeys(given.getlist("where")))),
            roots=given.get("roots") == "1",
            schedule=given.get("schedule", "").strip(),
        )

    def filters(self, app: str | None, now: datetime) -> RunFilters:
        """For the runs of `app`, or of the app the address names."""
        return RunFilters(
            workflow=self.workflow or None,
            statuses=tuple(RunStatus(status) for status in self.statuses),
            app=app,
            tags=self.tags,
            created_after=self.since or (now - RANGES[self.range] if self.range else None),
            created_before=self.until,
            error=self.error or None,
            where=read_all(self.where),
            roots_only=self.roots,
            schedule=self.schedule or None,
        )

    def span(self, now: datetime) -> tuple[datetime, datetime]:
        """The time the histogram shows."""
        until = self.until or now
        since = self.since or until - RANGES[self.range or SHOWN_RANGE]
        return (since, until) if since < until else (until - timedelta(minutes=1), until)

    def arguments(self) -> dict[str, Any]:
        """The query of the address."""
        given = {
            "workflow": self.workflow,
            "status": list(self.statuses),
            "app": self.app,
            "tag": list(self.tags),
            "range": self.range,
            "since": self.since.isoformat() if self.since else "",
            "until": self.until.isoformat() if self.until else "",
            "error": self.error,
            "where": list(self.where),
            "roots": "1" if self.roots else "",
            "schedule": self.schedule,
        }
        return {name: value for name, value in given.items() if value}

    def url(self, endpoint: str = "runs.index", **more: Any) -> str:
        return url_for(endpoint, **self.arguments() | {name: value for name, value in more.items() if value})

    def with_(self, **changes: Any) -> RunQuery:
        """The same with other filters; a range takes the place of a span, and a span that of a range."""
        if "range" in changes:
            changes |= {"since": None, "until": None}
        elif "since" in changes:
            changes |= {"range": ""}
        return replace(self, **changes)

    def toggled(self, status: str) -> RunQuery:
        """With this status, or without it if it is there."""
        others = tuple(other for other in self.statuses if other != status)
        return replace(self, statuses=others if status in self.statuses else (*others, status))

    def chips(self) -> Iterator[Chip]:
        """One for each filter, but for status and range, which have places of their own."""
        for kind in ("workflow", "schedule", "app", "error"):
            value = getattr(self, kind)
            if value:
                yield Chip(kind, value, self.with_(**{kind: ""}).url())
        for tag in self.tags:
            yield Chip("tag", tag, replace(self, tags=tuple(other for other in self.tags if other != tag)).url())
        for one in self.where:
            yield Chip("where", one, replace(self, where=tuple(other for other in self.where if other != one)).url())

    def searched(self, words: str) -> RunQuery:
        """With what a person typed: `workflow:order tag:eu input.id=7`, and the rest as part of the error's text."""
        values = [m[0] for m in _VALUE.finditer(words) if _is_where(m[0])]
        words = _VALUE.sub(lambda m: " " if m[0] in values else m[0], words)
        found: Sequence[tuple[str, str]] = [(m[1], m[2] or m[3] or "") for m in _KEYED.finditer(words)]
        rest = " ".join(_KEYED.sub(" ", words).split())
        query = replace(self, error=rest) if rest else self
        query = replace(query, where=tuple(dict.fromkeys((*self.where, *values))))
        for kind, value in found:
            query = query._and(kind, value)
        return query

    def _and(self, kind: str, value: str) -> RunQuery:
        match kind:
            case "tag":
                return replace(self, tags=tuple(dict.fromkeys((*self.tags, value))))
            case "status":
                known = value in _STATUSES and value not in self.statuses
                return replace(self, statuses=(*self.statuses, value)) if known else self
            case _:
                changes: dict[str, Any] = {kind: value}
                return replace(self, **changes)


def _is_where(text: str) -> bool:
    try:
        return bool(read_where(text))
    except InvalidInput:
        return False


def _moment(text: str | None) -> datetime | None:
    at = read_time(text.replace(" ", "+")) if text else None
    return at.astimezone(UTC) if at is not None and 1970 < at.year < 9000 else None
