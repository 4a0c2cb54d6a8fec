"""The options by which runs are found."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from orchestrator.cli.spans import read_span
from orchestrator.cli.text import clean
from orchestrator.domain.states import RunStatus
from orchestrator.domain.where import Where, read_where
from orchestrator.errors import InvalidInput
from orchestrator.ids import is_id
from orchestrator.store.reads import RunFilters


class When(click.ParamType[datetime]):
    """A time: ISO 8601 (this machine's time zone unless it says another), or so long ago: 30min, 2h, 7d."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        ago = read_span(str(value))
        try:
            if ago is not None:
                return datetime.now(UTC) - timedelta(seconds=ago)
            return datetime.fromisoformat(str(value)).astimezone()
        except (ValueError, OverflowError):
            self.fail(f"'{clean(str(value))}' is not a time: give 2026-11-29T17:00, or how long ago: 30min, 2h, 7d")


class RunId(click.ParamType[str]):
    """A run's whole id: filters do not guess."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        id = str(value).lower()
        if not is_id(id):
            self.fail(f"'{clean(str(value))}' is not the whole id of a run")
        return id


class WhereType(click.ParamType[Where]):
    """A condition on a value of the input."""

    name = "path=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Where:
        try:
            return value if isinstance(value, Where) else read_where(str(value))
        except InvalidInput as error:
            self.fail(f"'{clean(str(value))}' {error.problems[0].message}")


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
    click.option(
        "--where",
        multiple=True,
        metavar="PATH=VALUE",
        type=WhereType(),
        help="With this value in the input: input.customer.id=42; given twice, with both.",
    ),
    click.option("--children-of", metavar="ID", type=RunId(), help="Started by steps of this run."),
    click.option("--roots-only", is_flag=True, help="Not started by a step of another run."),
    click.option("--schedule", metavar="NAME", help="Started by this schedule."),
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
        where: Sequence[Where],
        children_of: str | None,
        roots_only: bool,
        schedule: str | None,
        **rest: Any,
    ) -> Any:
        filters = RunFilters(
            workflow,
            tuple(RunStatus(status) for status in statuses),
            app,
            tuple(tags),
            since,
            until,
            error,
            children_of,
            roots_only,
            schedule=schedule,
            where=tuple(where),
        )
        return command(*args, filters=filters, **rest)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), collected)
