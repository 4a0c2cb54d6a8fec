"""Alert rules as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, local, one_line, parsed
from orchestrator.domain.alerts import describe_rule
from orchestrator.domain.times import span

_RULES = (
    name_column("ALERT"),
    Column("APP", gives_way=2),
    Column("SEVERITY", gives_way=3),
    Column("STATUS"),
    Column("OPEN", gives_way=4),
    Column("TELLS", gives_way=1),
    Column("LAST SENT", gives_way=5),
    Column("", stretches=True),
)
_DELIVERIES = (
    Column("MADE", gives_way=2),
    Column("TO"),
    Column("STATUS"),
    Column("TRIES", gives_way=3),
    Column("", stretches=True),
)
_COLORS = {"sent": "green", "given_up": "red", "waiting": "yellow"}


def rule_lines(items: Sequence[Mapping[str, Any]], width: int | None) -> list[Text]:
    """A line a rule."""
    return table(_RULES, [_row(item) for item in items], width)


def delivery_lines(items: Sequence[Mapping[str, Any]], width: int | None) -> list[Text]:
    """A line a message."""
    return table(_DELIVERIES, [_delivery(item) for item in items], width)


def rule_page(
    view: Mapping[str, Any], found: Sequence[Mapping[str, Any]], sent: Sequence[Mapping[str, Any]], width: int | None
) -> Iterator[Text]:
    """All about a rule."""
    yield from rule_lines([view], width)
    yield Text(f"  when: {describe_rule(view['kinds'], view['late_seconds'], view['stuck_seconds'])}")
    for name in ("workflow", "queue"):
        if view[name] is not None:
            yield Text(f"  {name}: {clean(view[name])}")
    if view["tags"]:
        yield Text(f"  tags: {clean(', '.join(view['tags']))}")
    again = "" if view["resolved"] else "; not told when it is over"
    yield Text(f"  gathered for {span(view['group_seconds'])}, told again after {span(view['repeat_seconds'])}{again}")
    if view["webhook"] is not None:
        yield Text(f"  webhook: {clean(view['webhook'])}{', signed' if view['signed'] else ''}")
    if view["emails"]:
        yield Text(f"  e-mail: {clean(', '.join(view['emails']))}")
    yield from (_alert(one) for one in found)
    if sent:
        yield Text("")
        yield from delivery_lines(sent, width)


def _row(item: Mapping[str, Any]) -> tuple[Text, ...]:
    last = parsed(item["last_sent_at"])
    tells = [name for name, there in (("webhook", item["webhook"]), ("e-mail", item["emails"])) if there]
    return (
        Text(clean(item["name"])),
        Text("all" if item["app"] is None else clean(item["app"]), "dim"),
        Text(item["severity"]),
        Text("paused", "yellow") if item["paused"] else Text("active", "green"),
        Text(str(item["open"]) if item["open"] else ""),
        Text(", ".join(tells)),
        Text(local(last) if last else "", "dim"),
        Text(one_line(item["error"] or ""), "red"),
    )


def _delivery(item: Mapping[str, Any]) -> tuple[Text, ...]:
    made = parsed(item["created_at"])
    told = f"{item['title']}: {item['error']}" if item["error"] else item["title"]
    return (
        Text(local(made) if made else "", "dim"),
        Text(item["channel"]),
        Text(item["status"].replace("_", " "), _COLORS[item["status"]]),
        Text(str(item["attempts"])),
        Text(one_line(told), "red" if item["error"] else ""),
    )


def _alert(item: Mapping[str, Any]) -> Text:
    what = item["workflow"] or item["queue"] or item["schedule"]
    since = parsed(item["opened_at"])
    return Text(f"  open since {local(since) if since else ''}: {item['kind']} {clean(what)} ({item['total']})", "red")
