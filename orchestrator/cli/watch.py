"""`orchestrator watch`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import click
from rich.console import Console, Group
from rich.live import Live

from orchestrator.cli.changes import Changes, run_json, step_json
from orchestrator.cli.exits import Ended, Exit
from orchestrator.cli.marks import Signs
from orchestrator.cli.options import common
from orchestrator.cli.output import console, note, print_json_line, print_lines, width_of
from orchestrator.cli.screen import Size, changed_line, farewell, fits, run_line, screen
from orchestrator.cli.session import find, open_database, plan_of
from orchestrator.cli.steplines import Around
from orchestrator.cli.tree import TreeLine, tree
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.errors import Unreachable
from orchestrator.services.descend import Family, descend
from orchestrator.services.done import done
from orchestrator.services.look import Look, look
from orchestrator.store.db import Database
from orchestrator.store.reads import StepBrief, get_run, load_secrets

_POLL_SECONDS = 0.5
_DRAW_SECONDS = 0.125
# Looking takes at most this share of the time, however big the run.
_LOOK_SHARE = 0.1
_PATIENCE_SECONDS = 60.0


@click.command()
@click.argument("run")
@common
def watch(run: str, as_json: bool) -> None:
    """Watch a run until it ends.

    RUN is an id, a beginning or end of one, or 'latest'. The exit code is 1 when the run did not succeed. When
    the output is no terminal, and with --json, every change is a line.
    """
    with open_database() as db:
        watcher = Watcher(db, find(db, run))
        shown = console()
        try:
            if as_json:
                _follow_json(watcher)
            elif shown.is_terminal and not shown.is_dumb_terminal:
                _follow_live(watcher, shown)
            else:
                _follow_lines(watcher, shown)
        except KeyboardInterrupt:
            note(f"the run goes on: orchestrator watch {watcher.run_id}")
            raise
        if watcher.seen.run.status is not RunStatus.SUCCEEDED:
            raise Ended(Exit.RUN_FAILED)


class Watcher:
    """Looks at a run again and again; `seen` is the last look."""

    def __init__(self, db: Database, run_id: str) -> None:
        self.db, self.run_id = db, run_id
        with db.transaction() as conn:
            self.secrets = load_secrets(conn, run_id)
        self.trouble = ""
        self._away_since: float | None = None
        self.family = Family()
        self.seen = self._look(None)
        self.plan: Plan = plan_of(db, self.seen.run)

    def look(self, most: int | None) -> float:
        """Look anew; seconds until the next look. Keeps what was seen while Postgres is away for up to a minute."""
        began = time.monotonic()
        try:
            self.seen = self._look(most)
            self.trouble, self._away_since = "", None
        except Unreachable as error:
            self._away_since = self._away_since or began
            if began - self._away_since > _PATIENCE_SECONDS:
                raise
            self.trouble = f"{error}; trying again"
        spent = time.monotonic() - began
        return max(_POLL_SECONDS, spent / _LOOK_SHARE)

    def _look(self, most: int | None) -> Look:
        """With room for `most` lines what is below the run is looked at too."""
        with self.db.transaction() as conn:
            seen = look(conn, self.run_id, self.secrets, most=most)
            if most is not None:
                self.family = descend(conn, self.run_id, max(most - len(seen.steps), most // 4))
            return seen

    def around(self, later: float = 0.0) -> Around:
        """The run around its steps, `later` seconds after the look."""
        run = self.seen.run
        statuses: dict[int, StepStatus] = {step.position: step.status for step in self.seen.steps}
        return Around(self.plan, statuses, run.status, run.now + timedelta(seconds=later))

    def tree(self) -> list[TreeLine]:
        """The steps as a tree; of a function, behind it what it has done so far."""
        if not self.plan.code:
            return tree(self.plan)
        with self.db.transaction() as conn:
            found = done(conn, self.plan, self.run_id)
        lines = [replace(line, position=found.places[line.position]) for line in tree(found.plan)]
        return [TreeLine(0, ()), *(line for line in lines if line.position)]

    @property
    def over(self) -> bool:
        return self.seen.run.status.terminal

    def output(self) -> object:
        """The run's output as it may be shown."""
        with self.db.transaction() as conn:
            return get_run(conn, self.run_id)["output"]


def _follow_live(watcher: Watcher, shown: Console) -> None:
    picture = _Picture(watcher, shown)
    with Live(console=shown, auto_refresh=False, vertical_overflow="crop") as live:
        while not watcher.over:
            next_look = time.monotonic() + watcher.look(picture.size.room)
            seen_at = time.monotonic()
            while (now := time.monotonic()) < next_look and not watcher.over:
                live.update(picture.draw(now - seen_at), refresh=True)
                time.sleep(min(_DRAW_SECONDS, max(next_look - now, 0.0)))
        live.update(picture.draw(0.0), refresh=True)
    print_lines(shown, farewell(watcher.seen, watcher.output(), width_of(shown)))


class _Picture:
    def __init__(self, watcher: Watcher, shown: Console) -> None:
        self.watcher, self.console, self.signs = watcher, shown, Signs.of(shown)
        self._tree: list[TreeLine] | None = None
        self._drawn = -1  # how many steps there were; those of a function become more

    @property
    def size(self) -> Size:
        return Size(self.console.width, self.console.height)

    def draw(self, later: float) -> Group:
        """The picture `later` seconds after the last look; clocks go on between looks."""
        watcher = self.watcher
        seen = watcher.seen
        if not watcher.over:
            seen = replace(seen, run=replace(seen.run, now=seen.run.now + timedelta(seconds=later)))
        whole = len(seen.steps) == seen.total and fits(seen.total, self.size)
        if whole and self._drawn != seen.total:
            self._tree, self._drawn = watcher.tree(), seen.total
        around = watcher.around(later)
        lines = screen(
            seen, around, self._tree if whole else None, self.signs, self.size, watcher.trouble, watcher.family
        )
        return Group(*lines)


def _follow_lines(watcher: Watcher, shown: Console) -> None:
    signs = Signs.of(shown)

    def tell_steps(steps: Sequence[StepBrief]) -> None:
        around = watcher.around()
        print_lines(shown, [changed_line(step, around, signs) for step in steps])
        shown.file.flush()

    def tell_run(at: datetime) -> None:
        print_lines(shown, [run_line(watcher.seen, at, signs)])
        shown.file.flush()

    _follow(watcher, tell_steps, tell_run)


def _follow_json(watcher: Watcher) -> None:
    def tell_steps(steps: Sequence[StepBrief]) -> None:
        for step in steps:
            print_json_line(step_json(step, watcher.seen))

    _follow(watcher, tell_steps, lambda at: print_json_line(run_json(watcher.seen, at)))


def _follow(
    watcher: Watcher, tell_steps: Callable[[Sequence[StepBrief]], None], tell_run: Callable[[datetime], None]
) -> None:
    """Tell what changes until the run is over: the run before its steps, and its end last."""
    changes = Changes()
    while True:
        steps, run_at = changes.steps(watcher.seen), changes.run(watcher.seen)
        if run_at is not None and not watcher.over:
            tell_run(run_at)
        tell_steps(steps)
        if watcher.over:
            break
        time.sleep(watcher.look(None))
    tell_run(run_at or watcher.seen.run.now)
