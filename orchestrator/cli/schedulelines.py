"""Schedules as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from rich.text import Text

from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import ago, clean, json_line, local, one_line, parsed, plural
from orchestrator.domain.times import span
from orchestrator.services.backfill import Backfilled

_COLUMNS = (
    name_column("SCHEDULE"),
    Column("APP", gives_way=2),
    name_column("WORKFLOW"),
    Column("WHEN", gives_way=3),
    Column("STATUS"),
    Column("NEXT FIRE"),
    Column("LAST RUN", gives_way=1),
    Column("", stretches=True),
)
_FIRES = (
    Column("FIRE TIME"),
    Column("STATUS"),
    Column("CAUSE", gives_way=2),
    Column("RUN", gives_way=1),
    Column("", stretches=True),
)
_SHOWN = 5


def schedule_lines(items: Sequence[Mapping[str, Any]], width: int | None) -> list[Text]:
    """A line a schedule."""
    return table(_COLUMNS, [_row(item) for item in items], width)


def _row(item: Mapping[str, Any]) -> tuple[Text, ...]:
    following, last = parsed(item["next_fire_at"]), item["last_run"]
    return (
        Text(clean(item["name"])),
        Text(clean(item["app"]) if item["app"] != "default" else "", "dim"),
        Text(clean(item["workflow"])),
        Text(when(item)),
        _status(item),
        Text(local(following) if following else ""),
        Text(last["status"] if last else "", "dim"),
        Text(one_line(item["error"] or item["pause_reason"] or ""), "red" if item["error"] else "dim"),
    )


def when(item: Mapping[str, Any]) -> str:
    """`30 2 * * * Europe/London`, `each 15 min`."""
    if item["cron"] is None:
        return f"each {span(item['interval_seconds'])}"
    return f"{clean(item['cron'])} {item['timezone']}"


def _status(item: Mapping[str, Any]) -> Text:
    if item["paused"]:
        return Text("paused", "yellow")
    return Text("late", "red") if item["late"] else Text("active")


def schedule_page(view: Mapping[str, Any], width: int | None) -> list[Text]:
    """All of one schedule."""
    counts = view["counts"]
    facts = {
        "input": json_line(view["input"]),
        "overlap": view["overlap"],
        "catch-up": span(view["catchup_seconds"]),
        "jitter": span(view["jitter_seconds"]) if view["jitter_seconds"] else None,
        "failures": f"{view['failures_in_row']} in a row"
        + (f", {view['max_failures']} pause it" * bool(view["max_failures"])),
        "fire times": f"{counts['started']} started, {counts['skipped']} skipped, {counts['missed']} missed,"
        f" {counts['failed']} failed to start",
        "waiting": plural(view["waiting"], "run") if view["waiting"] else None,
        "paused by": f"{clean(view['paused_by'])}: {clean(view['pause_reason'] or '')}" if view["paused"] else None,
        "error": clean(view["error"]) if view["error"] else None,
    }
    lines = [*schedule_lines([view], width), Text()]
    lines += [Text(f"  {name:<10}  {value}") for name, value in facts.items() if value is not None]
    return [*lines, Text(), *time_lines(view["next_fires"], view["timezone"])]


def time_lines(times: Sequence[str], timezone: str | None = None) -> Iterator[Text]:
    """A time a line, in this machine's zone, and in that of the schedule."""
    for text in times:
        at = parsed(text) or datetime.now(UTC)
        there = f"   {at.astimezone(ZoneInfo(timezone)):%a %Y-%m-%d %H:%M:%S %z} {timezone}" if timezone else ""
        yield Text(f"  {local(at)}{there}")


def fire_lines(items: Sequence[Mapping[str, Any]], width: int | None) -> list[Text]:
    """A line a fire time, or some of them in a row that were passed over."""
    return table(_FIRES, [_fire(item) for item in items], width)


def _fire(item: Mapping[str, Any]) -> tuple[Text, ...]:
    passed = item["status"] == "passed"
    at, last = parsed(item["fire_at"]), parsed(item["last_at"])
    count = "over 1,000" if item["count"] is None else f"{item['count']:,}"
    span = f"{count} up to {local(last)}: {item['reason']}" if last else ""
    return (
        Text(local(at) if at else ""),
        Text(item["status"], "yellow" if passed else "red" if item["status"] in ("failed", "refused") else ""),
        Text("" if passed else item["cause"]),
        Text(item["run_id"] or ""),
        Text(one_line(item["error"]) if item["error"] else span),
    )


def backfilled_lines(found: Backfilled) -> Iterator[Text]:
    """How many there are, and the first and last of them."""
    had = f"; {plural(found.had, 'fire time')} of the range had one" if found.had else ""
    verb = "would start" if found.dry_run else "are to start"
    yield Text(f"{plural(len(found.fires), 'run')} {verb}{had}")
    shown = found.fires if len(found.fires) <= 2 * _SHOWN else [*found.fires[:_SHOWN], *found.fires[-_SHOWN:]]
    now = datetime.now(UTC)
    for place, fire in enumerate(shown):
        if len(found.fires) > 2 * _SHOWN and place == _SHOWN:
            yield Text(f"  ... {len(found.fires) - 2 * _SHOWN} more ...", "dim")
        yield Text(f"  {local(fire)}  {ago(fire, now)}")
