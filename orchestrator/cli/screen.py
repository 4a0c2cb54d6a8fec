"""The live picture of a run: the whole graph when it fits the screen, else what matters now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.text import Text

from orchestrator.cli.changes import changed_at
from orchestrator.cli.familylines import under_steps
from orchestrator.cli.marks import MARKS, Signs, word
from orchestrator.cli.steplines import Around, attempts, says, took
from orchestrator.cli.summary import counts_lines, headline, why
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import clean, clock, json_line
from orchestrator.cli.tree import TreeLine
from orchestrator.domain.states import StepStatus
from orchestrator.domain.times import duration
from orchestrator.services.descend import Family
from orchestrator.services.look import Look
from orchestrator.store.reads import StepBrief

_COLUMNS = (name_column(""), Column(""), Column("", gives_way=1), Column(""), Column("", stretches=True))
_SECTIONS = (
    ("failed", frozenset({StepStatus.FAILED})),
    ("running", frozenset({StepStatus.RUNNING, StepStatus.WAITING})),
    ("next", frozenset({StepStatus.READY, StepStatus.QUEUED})),
    ("stopped", frozenset({StepStatus.CANCELED, StepStatus.UPSTREAM_FAILED})),
)
_HEAD_LINES = 6
_NO_FAMILY = Family()
Line = tuple[Text, ...] | Text  # a row of the table, or a title between rows
Under = Mapping[int | None, Sequence[tuple[Text, ...]]]
_LARGEST_TREE = 200
_BAR_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Size:
    """The terminal, in cells."""

    width: int
    height: int

    @property
    def room(self) -> int:
        """Steps that can be shown below the head."""
        return max(self.height - _HEAD_LINES, 4)


def fits(total: int, size: Size) -> bool:
    """Whether a run of `total` steps is drawn as a tree."""
    return total <= min(size.room, _LARGEST_TREE)


def screen(
    look: Look,
    around: Around,
    tree: Sequence[TreeLine] | None,
    signs: Signs,
    size: Size,
    note: str = "",
    family: Family = _NO_FAMILY,
) -> list[Text]:
    """The lines of the picture, none wider than the terminal. `tree` None: what matters now; `family`: some of the runs
    below."""
    lines = [_head(look, signs, size)]
    because = Text(note, "yellow") if note else why(look.run)
    lines += [because] if because else []
    lines += [*counts_lines(look.counts, signs, min(_BAR_WIDTH, size.width // 3), size.width), Text()]
    below = under_steps(family, look.run.id, signs, around.now)
    rows = _sections(look, around, signs, below) if tree is None else _tree(look, around, tree, signs, below)
    lines += _fitted(rows, signs, size)
    for line in lines:
        line.truncate(size.width, overflow="ellipsis")
    return lines


def _head(look: Look, signs: Signs, size: Size) -> Text:
    """The headline with the run's id, or with its last part where the terminal is narrow."""
    line = headline(look.run, signs)
    whole = line.cell_len + 2 + len(look.run.id) <= size.width
    return line.append(f"  {look.run.id if whole else look.run.id.rsplit('-', 1)[1]}", "dim")


def _tree(look: Look, around: Around, tree: Sequence[TreeLine], signs: Signs, below: Under) -> list[Line]:
    steps = {step.position: step for step in look.steps}
    rows: list[Line] = []
    for line in tree:
        if line.position in steps:
            rows += [_row(steps[line.position], around, signs, line), *below.get(line.position, ())]
    drawn = {line.position for line in tree}
    for step in look.steps:
        if step.position not in drawn:
            rows += [_row(step, around, signs), *below.get(step.position, ())]
    return [*rows, *below.get(None, ())]


def _fitted(rows: Sequence[Line], signs: Signs, size: Size) -> list[Text]:
    """Lines of the table, with the titles that stand between its rows; as many as there is room for."""
    lines = iter(table(_COLUMNS, [row for row in rows if not isinstance(row, Text)], size.width)[1:])
    drawn = [row if isinstance(row, Text) else next(lines) for row in rows]
    hidden = len(drawn) - size.room
    return drawn if hidden <= 0 else [*drawn[: size.room - 1], Text(f"{signs.dots} and {hidden + 1} more lines", "dim")]


def _row(step: StepBrief, around: Around, signs: Signs, line: TreeLine | None = None) -> tuple[Text, ...]:
    guides = "".join(signs.branch[guide] for guide in line.guides) if line else ""
    told = Text() if line and step.status is StepStatus.PENDING else says(step, around, signs)
    return (
        Text.assemble((guides, "dim"), signs.marked(step.status), clean(step.name)),
        Text(word(step.status), MARKS[step.status].style),
        Text(f"attempt {attempts(step)}" if attempts(step) else ""),
        Text(took(step, around.now)),
        told,
    )


def _sections(look: Look, around: Around, signs: Signs, below: Under) -> list[Line]:
    rows: list[Line] = []
    for title, statuses in _SECTIONS:
        shown = [step for step in look.steps if step.status in statuses]
        if shown:
            count = sum(look.counts.get(status, 0) for status in statuses)
            rows.append(Text(f"{title} ({len(shown)} of {count:,})" if count > len(shown) else title, "bold"))
        for step in shown:
            rows += [_row(step, around, signs), *below.get(step.position, ())]
    return rows


def farewell(look: Look, output: object, width: int | None) -> list[Text]:
    """What is said once the run has ended."""
    if look.run.status == "succeeded":
        said = Text.assemble(("output  ", "dim"), json_line(output))
        if width is not None:
            said.truncate(width, overflow="ellipsis")
        return [said]
    return [Text(f"orchestrator show {look.run.id}", "dim")]


def changed_line(step: StepBrief, around: Around, signs: Signs) -> Text:
    """One line for a step that changed, for output that is no terminal."""
    at = changed_at(step, around.now)
    line = Text.assemble((f"{clock(at)} ", "dim"), signs.mark(step.status), f" {clean(step.name)}")
    line.append(f" {word(step.status)}")
    tried, lasted, said = attempts(step), took(step, around.now), says(step, around, signs)
    line.append(f", attempt {tried}" if tried else "")
    line.append(f", {lasted}" if lasted and step.status.terminal else "")
    return line.append(": ").append_text(said) if said else line


def run_line(look: Look, at: datetime, signs: Signs) -> Text:
    """One line for the run's own state, which changed `at` a moment."""
    run = look.run
    line = Text.assemble((f"{clock(at)} ", "dim"), f"{signs.mark(run.status)} {clean(run.workflow)} {word(run.status)}")
    if run.started_at is not None and run.finished_at is not None:
        line.append(f" after {duration((run.finished_at - run.started_at).total_seconds())}")
    because = why(run)
    return line.append(": ").append_text(because) if because else line
