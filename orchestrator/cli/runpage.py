"""The page of one run: what a person reads when something is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from orchestrator.cli.marks import Signs
from orchestrator.cli.steplines import Around, attempts, says, took
from orchestrator.cli.summary import counts_lines, headline, obstacles, why
from orchestrator.cli.table import Column, name_column, table
from orchestrator.cli.text import ago, clean, cut, json_line, local, parsed, plural, shell_argument, shell_option
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.services.look import Look
from orchestrator.store.reads import RunNow, StepBrief

_COLUMNS = (
    name_column("STEP"),
    Column("STATUS"),
    Column("ATTEMPT", gives_way=2),
    Column("TOOK", gives_way=3),
    Column("WORKER", gives_way=1),
    Column("", stretches=True),
)
_BAR_WIDTH = 20
_VALUE_WIDTH = 400
_FACT_WIDTH = 11


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run's public view, a look at it, and the processes there are."""

    view: Mapping[str, Any]
    look: Look
    around: Around
    workers: Sequence[Mapping[str, Any]]

    @property
    def run(self) -> RunNow:
        return self.look.run

    @property
    def steps(self) -> Sequence[StepBrief]:
        return self.look.steps


def run_page(page: RunPage, signs: Signs, width: int | None) -> list[Text]:
    """The lines of the page."""
    lines = [headline(page.run, signs), *_facts(page, signs, width), Text()]
    lines += obstacle_lines(page.run, page.steps, page.workers)
    lines += step_table(page.steps, page.around, signs, width)
    hidden = page.look.total - len(page.steps)
    if hidden > 0:
        more = f"{plural(hidden, 'step')} more: orchestrator show {page.run.id} --all (or --status STATUS)"
        lines.append(Text(f"  {more}", "dim"))
    return [*lines, *hints(page)]


def obstacle_lines(run: RunNow, steps: Sequence[StepBrief], workers: Sequence[Mapping[str, Any]]) -> list[Text]:
    """What keeps the run from going on, and an empty line; none when nothing does."""
    waits = (StepStatus.READY, StepStatus.QUEUED)
    waiting = {s.queue for s in steps if s.status in waits and s.queue and s.held_at is None}
    told = obstacles(run, waiting, workers)
    return [*(Text(f"! {one}", "yellow") for one in told), Text()] if told else []


def _facts(page: RunPage, signs: Signs, width: int | None) -> Iterator[Text]:
    run, view = page.run, page.view
    because = why(run)
    if because:
        yield _fact("why", because)
    yield _fact("run", Text(f"{run.id}, revision {run.revision}, app {clean(run.app)}"))
    definition = page.around.plan.definition
    if page.around.plan.code:
        version = f", version {clean(definition.version)}" if definition.version else ""
        yield _fact("function", Text(f"{clean(definition.steps[0].code or '')}{version}"))
    if view["parent_run_id"] is not None:
        item = "" if view["parent_item"] is None else f"item {view['parent_item']} of "
        step = f"{item}step '{clean(view['parent_step'])}' of " if view["parent_step"] else ""
        yield _fact("parent", Text(f"{step}run {view['parent_run_id']}; it lies {view['depth']} deep"))
    yield _fact("started" if run.started_at is not None else "created", Text(_times(run)))
    if view.get("schedule"):
        fire_at = parsed(view["schedule"]["fire_at"]) or run.created_at
        yield _fact("schedule", Text(f"{clean(view['schedule']['name'])}, fire time {local(fire_at)}"))
    if view.get("rerun_of"):
        yield _fact("rerun of", Text(view["rerun_of"]))
    if run.deadline_at is not None and not run.status.terminal:
        yield _fact("deadline", Text(local(run.deadline_at)))
    if view["tags"]:
        yield _fact("tags", Text(clean(", ".join(view["tags"]))))
    yield _fact("input", _value(view["input"], width))
    if run.status is RunStatus.SUCCEEDED:
        yield _fact("output", _value(view["output"], width))
    room = None if width is None else width - _FACT_WIDTH
    first, *rest = counts_lines(page.look.counts, signs, _BAR_WIDTH, room)
    yield _fact("steps", first)
    yield from (_fact("", line) for line in rest)


def _fact(name: str, value: Text) -> Text:
    return Text.assemble((f"  {name}".ljust(_FACT_WIDTH), "dim"), value)


def _times(run: RunNow) -> str:
    began = run.started_at or run.created_at
    ended = f", ended {local(run.finished_at)}" if run.finished_at else ""
    return f"{local(began)} ({ago(began, run.now)}){ended}"


def _value(value: Any, width: int | None) -> Text:
    return Text(cut(json_line(value), _VALUE_WIDTH if width is None else max(width - _FACT_WIDTH, 10)))


def step_table(steps: Sequence[StepBrief], around: Around, signs: Signs, width: int | None) -> list[Text]:
    """Steps in graph order, one a line."""
    rows = [
        (
            Text(clean(step.name)),
            signs.status(step.status),
            Text(attempts(step)),
            Text(took(step, around.now)),
            Text(clean(step.worker or "") if step.status is not StepStatus.PENDING else "", "dim"),
            says(step, around, signs),
        )
        for step in steps
    ]
    return table(_COLUMNS, rows, width, indent=2)


def _answer(run_id: str, step: StepBrief) -> tuple[str, str]:
    """The command that ends a wait."""
    wait = step.wait or {}
    if wait["for"] == "approval":
        asked = [name for name, schema in wait["fields"].items() if "default" not in schema]
        form = "".join(f" {shell_option('--field', f'{name}=...')}" for name in asked)
        return f"approve {run_id} {shell_argument(step.name)}{form}", "or reject; --field NAME=VALUE fills in the form"
    return f"signal {run_id} {shell_argument(wait['event'])} '{{}}'", f"what '{clean(step.name)}' waits for"


def hints(page: RunPage) -> list[Text]:
    """Commands that help from here."""
    run, steps = page.run, page.steps
    told: list[tuple[str, str]] = []
    bad = next((step for step in steps if step.status is StepStatus.FAILED), None)
    if bad is not None:
        told.append((f"logs {run.id} {shell_argument(bad.name)}", f"what '{clean(bad.name)}' logged and printed"))
        told.append((f"show {run.id} {shell_option('--step', bad.name)}", "its input, error and attempts"))
        if bad.child is not None:
            told.append((f"show {bad.child['run_id']}", f"the run of '{clean(bad.child['workflow'])}' it started"))
    held = next((step for step in steps if step.held_at is not None and not step.status.terminal), None)
    if held is not None:
        told.append((f"release {run.id} {shell_argument(held.name)}", "let the held step go on"))
    if run.status in (RunStatus.FAILED, RunStatus.CANCELED):
        told.append((f"retry {run.id}", "go on: what succeeded is not run again"))
        told.append((f"rerun {run.id}", "begin anew, as a run of its own"))
    elif run.status is RunStatus.PAUSED:
        told.append((f"resume {run.id}", "let it go on"))
    elif not run.status.terminal:
        told += [_answer(run.id, step) for step in steps if step.wait and "event" in step.wait][:3]
        told.append((f"watch {run.id}", "until it ends"))
    longest = max((cell_len(command) for command, _ in told), default=0)
    padded = [(command + " " * (longest - cell_len(command)), what) for command, what in told]
    return [Text(), *(Text.assemble(f"  orchestrator {command}", (f"  # {what}", "dim")) for command, what in padded)]
