"""Tables that fit: columns that matter less give way, one stretches, wide characters count double."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.text import Text

from orchestrator.cli.text import cut, cut_middle

_GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """`gives_way`: dropped in this order (1 first) when there is no room; None: never.

    `stretches`: gives up room first, down to `ease` cells; then columns give way; then it shrinks to `least`.
    """

    title: str
    gives_way: int | None = None
    stretches: bool = False
    ease: int = 30
    least: int = 12
    shorten: Callable[[str, int], str] = cut


def name_column(title: str) -> Column:
    """A column of names: stretches, and is cut in the middle."""
    return Column(title, stretches=True, ease=24, shorten=cut_middle)


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int | None, *, indent: int = 0
) -> list[Text]:
    """The lines of the table, its head first; none without rows.

    `width` None: as wide as it needs. Empty columns are left out.
    """
    if not rows:
        return []
    used = [i for i in range(len(columns)) if any(row[i].plain for row in rows)]
    widths = {i: max([len(columns[i].title), *(row[i].cell_len for row in rows)]) for i in used}
    if width is not None:
        _fit(columns, widths, width - indent)
    head = [Text(column.title, "dim") for column in columns]
    return [_line(columns, row, widths, indent) for row in [head, *rows]]


def _fit(columns: Sequence[Column], widths: dict[int, int], room: int) -> None:
    """Make the columns fit: stretching ones to their ease, then fewer columns, then to the least."""
    _shrink(widths, {i: columns[i].ease for i in widths if columns[i].stretches}, room)
    leaving = sorted((i for i in widths if columns[i].gives_way), key=lambda i: columns[i].gives_way or 0)
    while _total(widths) > room and leaving:
        del widths[leaving.pop(0)]
    _shrink(widths, {i: columns[i].least for i in widths if columns[i].stretches}, room)


def _shrink(widths: dict[int, int], floors: dict[int, int], room: int) -> None:
    """Take cells from the widest of the columns in `floors`, none below its floor, until all fit."""
    while (over := _total(widths) - room) > 0:
        able = [i for i, floor in floors.items() if widths[i] > floor]
        if not able:
            return
        widest = max(able, key=lambda i: widths[i])
        next_widest = max((widths[i] for i in able if i != widest), default=0)
        widths[widest] -= max(1, min(over, widths[widest] - max(floors[widest], next_widest)))


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + _GAP * max(len(widths) - 1, 0)


def _line(columns: Sequence[Column], row: Sequence[Text], widths: dict[int, int], indent: int) -> Text:
    line = Text(" " * indent)
    for place, (index, width) in enumerate(widths.items()):
        cell = fitted(row[index], width, columns[index].shorten)
        line.append_text(cell)
        if place < len(widths) - 1:
            line.append(" " * (width - cell.cell_len + _GAP))
    line.rstrip()
    return line


def fitted(cell: Text, width: int, shorten: Callable[[str, int], str] = cut) -> Text:
    """The cell in at most `width` cells."""
    if cell.cell_len <= width:
        return cell
    return Text(shorten(cell.plain, width), cell.style)
