"""The options by which runs are found."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from orchestrator.cli.text import clean
from orchestrator.domain.states import RunStatus
from orchestrator.store.reads import RunFilters

_RELATIVE = re.compile(r"(\d{1,9})(s|min|m|h|d|w)", re.IGNORECASE)
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}


class When(click.ParamType[datetime]):
    """A time: ISO 8601 (this machine's time zone unless it says another), or so long ago: 30min, 2h, 7d."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        relative = _RELATIVE.fullmatch(str(value))
        try:
            if relative:
                seconds = int(relative[1]) * _UNITS[relative[2].lower()]
                return datetime.now(UTC) - timedelta(seconds=seconds)
            return datetime.fromisoformat(str(value)).astimezone()
        except (ValueError, OverflowError):
            self.fail(f"'{clean(str(value))}' is not a time: give 2026-11-29T17:00, or how long ago: 30min, 2h, 7d")


_OPTIONS = (
    click.option("--workflow", metavar="NAME", help="Of this workflow."),
    click.option(
        "--status",
        "statuses",
        multiple=True,
        type=click.Choice([s.value for s in RunStatus]),
        help="With this status; given twice, with either.",
    ),
    click.option("--app", metavar="NAME", help="Of this app."),
    click.option("--tag", "tags", multiple=True, metavar="TAG", help="With this tag; given twice, with both."),
    click.option("--since", type=When(), help="Created at this time or later: 2026-11-29T17:00, 2h, 7d."),
    click.option("--until", type=When(), help="Created before this time."),
    click.option("--error", metavar="TEXT", help="With this text in the message of the error."),
)


def filtered(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that finds runs; it gets them together, as `filters`."""

    @functools.wraps(command)
    def collected(
        *args: Any,
        workflow: str | None,
        statuses: Sequence[str],
        app: str | None,
        tags: Sequence[str],
        since: datetime | None,
        until: datetime | None,
        error: str | None,
        **rest: Any,
    ) -> Any:
        wanted = tuple(RunStatus(status) for status in statuses)
        return command(*args, filters=RunFilters(workflow, wanted, app, tuple(tags), since, until, error), **rest)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), collected)
