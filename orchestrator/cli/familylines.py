"""The runs below a run as lines of its tree, each under the step that started it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rich.text import Text

from orchestrator.cli.marks import MARKS, Signs, word
from orchestrator.cli.text import clean
from orchestrator.domain.states import RunStatus
from orchestrator.domain.times import duration
from orchestrator.services.descend import Family
from orchestrator.store.reads import MOST_COUNTED, Below

Row = tuple[Text, ...]
_MOST_INDENTS = 12


def under_steps(family: Family, run_id: str, signs: Signs, now: datetime) -> Mapping[int | None, Sequence[Row]]:
    """The lines below each step of the run, by its position."""
    found: dict[int | None, list[Row]] = {}
    for child in family.children.get(run_id, ()):
        found.setdefault(child.under, []).extend(_lines(family, child, 1, signs, now))
    more = family.more.get(run_id)
    if more:
        last = max((under for under in found if under is not None), default=None)
        found.setdefault(last, []).append(_more(more, 1, signs))
    return found


def _lines(family: Family, run: Below, level: int, signs: Signs, now: datetime) -> Iterator[Row]:
    yield _row(run, level, signs, now)
    for child in family.children.get(run.id, ()):
        yield from _lines(family, child, level + 1, signs, now)
    if run.id in family.more:
        yield _more(family.more[run.id], level + 1, signs)


def _row(run: Below, level: int, signs: Signs, now: datetime) -> Row:
    arrow = "→" if signs.unicode else "->"
    item = "" if run.item is None else f"[{run.item}]"
    started_by = clean(run.step or "") + item if level > 1 else item
    took = "" if run.started_at is None else duration(((run.finished_at or now) - run.started_at).total_seconds())
    return (
        Text.assemble(
            _indent(level),
            signs.marked(run.status),
            (f"{started_by} " if started_by else "", "dim"),
            (f"{arrow} ", "dim"),
            clean(run.workflow),
        ),
        Text(word(run.status), MARKS[run.status].style),
        Text(),
        Text(took),
        Text(_says(run), "red" if run.status is RunStatus.FAILED else "dim"),
    )


def _says(run: Below) -> str:
    """Where it failed, or how far it is."""
    if run.status is RunStatus.FAILED:
        where = f"step '{clean(run.error_step)}': " if run.error_step else ""
        return f"{where}{clean(run.error_type or '')}"
    if run.status.terminal:
        return ""
    at = f", '{clean(run.at)}' is {word(run.at_status)}" if run.at is not None and run.at_status is not None else ""
    return f"{run.ended} of {run.steps} steps have ended{at}"


def _more(count: int, level: int, signs: Signs) -> Row:
    told = f"{count:,}" if count <= MOST_COUNTED else f"more than {MOST_COUNTED:,}"
    return Text(f"{_indent(level)}{signs.dots} and {told} more", "dim"), Text(), Text(), Text(), Text()


def _indent(level: int) -> str:
    return "   " * min(level, _MOST_INDENTS)
