"""A run and the runs below it, one a line, indented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.text import Text

from orchestrator.cli.marks import Signs
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, parsed
from orchestrator.domain.times import duration

MOST = 500
_COLUMNS = (name_column("WORKFLOW"), Column("STATUS"), Column("RUN"), Column("STEP"), Column("TOOK", gives_way=1))


def family_lines(
    runs: Sequence[Mapping[str, Any]], more: bool, signs: Signs, width: int | None, now: datetime
) -> list[Text]:
    """The lines of the table; a last one when there are `more` runs than it shows."""
    lines = table(_COLUMNS, [_row(run, signs, now) for run in runs], width)
    hidden = [Text(f"there are more than {MOST}: orchestrator runs --children-of ID", "dim")] if more else []
    return [*lines, *hidden]


def _row(run: Mapping[str, Any], signs: Signs, now: datetime) -> tuple[Text, ...]:
    started, finished = parsed(run["started_at"]), parsed(run["finished_at"])
    return (
        Text("   " * run["level"] + clean(run["workflow"])),
        signs.status(run["status"]),
        Text(str(run["id"])),
        Text(clean(run["step"] or "") + ("" if run["item"] is None else f"[{run['item']}]"), "dim"),
        Text(duration(((finished or now) - started).total_seconds()) if started else ""),
    )
