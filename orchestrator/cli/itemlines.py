"""The items of a step in a table, and how many there are of each status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from orchestrator.cli.marks import Signs, word
from orchestrator.cli.table import Column, table
from orchestrator.cli.text import clean, error_line, json_line, parsed
from orchestrator.domain.states import StepStatus
from orchestrator.domain.times import duration
from orchestrator.domain.words import reason_in_words

_COLUMNS = (
    Column("ITEM"),
    Column("STATUS"),
    Column("ATTEMPT", gives_way=2),
    Column("TOOK", gives_way=3),
    Column("WORKER", gives_way=1),
    Column("VALUE", stretches=True),
    Column("", stretches=True),
)


def item_table(items: Sequence[Mapping[str, Any]], signs: Signs, width: int | None, now: datetime) -> list[Text]:
    """One line an item."""
    return table(_COLUMNS, [_row(item, signs, now) for item in items], width)


def _row(item: Mapping[str, Any], signs: Signs, now: datetime) -> tuple[Text, ...]:
    started, finished = parsed(item["started_at"]), parsed(item["finished_at"])
    runs = item["status"] == StepStatus.RUNNING
    ended = finished or (now if runs else None)
    return (
        Text(str(item["index"])),
        signs.status(item["status"]),
        Text(str(item["attempt"]) if item["attempt"] > 1 else ""),
        Text(duration((ended - started).total_seconds()) if started and ended else ""),
        Text(clean(item["worker"] or ""), "dim"),
        Text(json_line(item["item"])),
        _says(item),
    )


def _says(item: Mapping[str, Any]) -> Text:
    error = item["error"]
    if item["status"] == StepStatus.FAILED and error:
        return Text(error_line(error.get("type"), error.get("message")), "red")
    return Text(reason_in_words(item["reason"]), "dim")


def counts_in_words(counts: Mapping[str, int]) -> str:
    """`7 succeeded, 2 failed, 1 running`; what does not occur is left out."""
    found = [f"{count:,} {word(status)}" for status, count in counts.items() if count]
    return ", ".join(found) or "none"
