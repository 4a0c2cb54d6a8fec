"""What must be true once everything has come to rest, whatever was destroyed: from the database and the journal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from orchestrator.domain.states import (
    RUN_TERMINAL,
    RUN_TRANSITIONS,
    STEP_TERMINAL,
    STEP_TRANSITIONS,
    RunStatus,
    StepStatus,
)
from orchestrator.services.check import Patience, check
from tests.chaos import clockwork
from tests.chaos.cases import Case
from tests.chaos.world import World

# A moment is when a transaction began: of two that follow one another within it, the second may have begun first.
_TOGETHER = timedelta(seconds=0.5)
_CRASHED_SECONDS = 3.0


@dataclass(frozen=True)
class Rest:
    """The world at rest: rows of the runs of `cases`, by run and step, and the calls in the journal."""

    cases: Mapping[str, Case]
    runs: Mapping[str, Any]
    steps: list[Any]
    attempts: Mapping[str, list[Any]]
    calls: Mapping[tuple[str, int], list[dict[str, Any]]]
    moves: list[Any]
    lines: Mapping[tuple[str, int], int]
    rows: Any
    whole: Callable[[Any], Any]  # a value with what lies in the blob store
    crashes: list[float]

    def of(self, run_id: str) -> list[Any]:
        return [step for step in self.steps if step.run_id == run_id]


def at_rest(world: World, cases: Mapping[str, Case]) -> Rest:
    attempts: dict[str, list[Any]] = defaultdict(list)
    for row in world.rows("SELECT * FROM workflow_step_attempts ORDER BY step_id, number"):
        attempts[row.step_id].append(row)
    calls: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for event in world.events():
        calls[event["key"].partition(":")[2], event["attempt"]].append(event)
    lines = world.rows("SELECT step_id, attempt, count(*) AS n FROM step_logs GROUP BY step_id, attempt")
    return Rest(
        cases,
        {row.id: row for row in world.rows("SELECT * FROM workflow_runs")},
        world.rows("SELECT * FROM workflow_run_steps ORDER BY run_id, position"),
        attempts,
        calls,
        world.rows("SELECT * FROM chaos_moves ORDER BY number"),
        {(row.step_id, row.attempt): row.n for row in lines},
        world.rows,
        world.engine.blobs.whole,
        world.crashes,
    )


def check_all(world: World, cases: Mapping[str, Case]) -> list[str]:
    """Everything that is not as it must be."""
    rest = at_rest(world, cases)
    found = [f"{check.__name__.strip('_')}: {fault}" for check in _CHECKS for fault in check(rest)]
    report = check(world.engine.db, Patience(seconds=3.0), processes=False, blobs=world.engine.blobs)
    return found + [f"db check: {finding}" for finding in report.findings]


def _runs_end_as_undisturbed(rest: Rest) -> Iterator[str]:
    for run_id, case in rest.cases.items():
        run = rest.runs[run_id]
        if run.status == "canceled" and {"cancel", "force"}.intersection(case.acts):
            continue
        output = rest.whole(run.output)
        if run.status != case.status or (case.output is not None and output != case.output):
            told = f"{str(output):.300} {run.error}, not {case.status} {str(case.output):.300}"
            yield f"{case.name} {run_id} is {run.status} {told}"


def _steps_end_as_undisturbed(rest: Rest) -> Iterator[str]:
    for run_id, case in rest.cases.items():
        ends = {step.name: step.status for step in rest.of(run_id) if step.item_of is None}
        for name, end in case.steps.items():
            if ends.get(name) != end:
                yield f"{case.name} {run_id} {name} is {ends.get(name)}, not {end}"


def _nothing_is_open(rest: Rest) -> Iterator[str]:
    for run in rest.runs.values():
        if run.finished_at is None:
            yield f"run {run.id} is {run.status}"
    for step in rest.steps:
        if step.finished_at is None:
            yield f"step {step.name} of {step.run_id} is {step.status}"


def _one_run_a_start(rest: Rest) -> Iterator[str]:
    fired = {row.run_id for row in rest.rows("SELECT run_id FROM schedule_fires")}
    started = {run.id for run in rest.runs.values() if run.parent_run_id is None} - fired
    if started != rest.cases.keys():
        yield f"runs that nobody knows of: {started ^ rest.cases.keys()}"
    ends = Counter(
        row.run_id
        for row in rest.rows(
            "SELECT run_id FROM run_events WHERE kind IN ('run.succeeded', 'run.failed', 'run.canceled')"
        )
    )
    for run_id, count in ends.items():
        if count != 1:
            yield f"run {run_id} ended {count} times"


def _moves_are_those_of_the_table(rest: Rest) -> Iterator[str]:
    for move in rest.moves:
        if move.kind == "run":
            allowed: Any = RUN_TRANSITIONS[RunStatus(move.was)]
            over = move.was in RUN_TERMINAL
        else:
            allowed, over = STEP_TRANSITIONS[StepStatus(move.was)], move.was in STEP_TERMINAL
        if over or move.became not in allowed:
            yield f"{move.kind} {move.id} went from {move.was} to {move.became}"


def _attempts_follow_one_another(rest: Rest) -> Iterator[str]:
    for step in rest.steps:
        rows = rest.attempts.get(step.id, [])
        if [row.number for row in rows] != list(range(1, len(rows) + 1)):
            yield f"step {step.name} of {step.run_id} has attempts {[row.number for row in rows]}"
        for one, two in zip(rows, rows[1:], strict=False):
            # What waits goes on with its attempt, and keeps when that began.
            if step.function is not None and two.started_at + _TOGETHER < one.finished_at:
                yield f"attempts {one.number} and {two.number} of {step.name} of {step.run_id} were claimed at once"
        if sum(row.outcome != "lost" for row in rows[:-1]) and rows[-1].outcome == "lost":
            continue
        if rows and step.status == "succeeded" and rows[-1].outcome != "succeeded":
            yield f"step {step.name} of {step.run_id} is succeeded, and its last attempt {rows[-1].outcome}"


def _no_attempt_is_called_twice(rest: Rest) -> Iterator[str]:
    """But for those whose claim went with a crash of Postgres."""
    for (step_id, attempt), events in rest.calls.items():
        begins = [event["at"] for event in events if event["kind"] == "begin"]
        spare = sum(begins[0] - _CRASHED_SECONDS < crash < begins[-1] for crash in rest.crashes)
        if len(begins) > 1 + spare:
            yield f"attempt {attempt} of step {step_id} was called {len(begins)} times: {events}"


def _calls_are_attempts_and_losses(rest: Rest) -> Iterator[str]:
    for step in rest.steps:
        rows = rest.attempts.get(step.id, [])
        lost = sum(row.outcome == "lost" for row in rows)
        case = rest.cases.get(step.run_id)
        most = (case.calls.get(step.name) if case else None) or step.max_attempts or 1
        if len(rows) - lost > most:
            yield f"step {step.name} of {step.run_id} had {len(rows) - lost} attempts, {most} allowed"
        called = {attempt for step_id, attempt in rest.calls if step_id == step.id}
        if not called <= {row.number for row in rows}:
            yield f"step {step.name} of {step.run_id} was called in attempts {called} and has {len(rows)}"


def _calls_overlap_only_when_lost(rest: Rest) -> Iterator[str]:
    """Of two calls of a step at one time, the earlier one's attempt was lost."""
    by_step: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for (step_id, attempt), events in rest.calls.items():
        ends = [event["at"] for event in events if event["kind"] != "begin"]
        if ends:
            by_step[step_id].append((attempt, events[0]["at"], max(ends)))
    for step_id, spans in by_step.items():
        lost = {row.number for row in rest.attempts.get(step_id, []) if row.outcome == "lost"}
        ordered = sorted(spans)
        for one, two in zip(ordered, ordered[1:], strict=False):
            if two[1] < one[2] and one[0] not in lost:
                yield f"attempts {one} and {two} of step {step_id} ran at one time"


def _what_was_settled_was_called(rest: Rest) -> Iterator[str]:
    """A function's success is that of a call that came to its end."""
    for step in rest.steps:
        if step.function != "c.work" or step.reason == "cached":
            continue
        for row in rest.attempts.get(step.id, []):
            kinds = [event["kind"] for event in rest.calls.get((step.id, row.number), [])]
            wanted = {"succeeded": "end", "failed": "raise"}.get(row.outcome)
            if wanted is not None and wanted not in kinds:
                yield f"attempt {row.number} of {step.name} of {step.run_id} is {row.outcome}, its calls {kinds}"


def _lines_are_kept(rest: Rest) -> Iterator[str]:
    for step in rest.steps:
        case = rest.cases.get(step.run_id)
        wanted = case.lines.get(step.name, 0) if case else 0
        if case is not None and case.of_code and step.position == 0:  # what was told is not told again
            told = sum(n for (step_id, _), n in rest.lines.items() if step_id == step.id)
            if told != 1:
                yield f"the function of {step.run_id} told its one line {told} times"
            continue
        for row in rest.attempts.get(step.id, []):
            found = rest.lines.get((step.id, row.number), 0)
            if row.outcome == "succeeded" and found != wanted:
                yield f"attempt {row.number} of {step.name} of {step.run_id} kept {found} of {wanted} lines"


def _children_are_started_once(rest: Rest) -> Iterator[str]:
    found = Counter(run.parent_step_id for run in rest.runs.values() if run.parent_step_id is not None)
    for step in rest.steps:
        case = rest.cases.get(step.run_id)
        if case and step.name in case.children and found[step.id] != case.children[step.name]:
            yield f"step {step.name} of {step.run_id} started {found[step.id]} runs"


def _undone_in_reverse(rest: Rest) -> Iterator[str]:
    for run_id, case in rest.cases.items():
        if not case.undone:
            continue
        ends = {step.name: step for step in rest.of(run_id)}
        undone = [ends.get(f"compensate {name}") for name in reversed(case.undone)]
        if any(step is None or step.status != "succeeded" for step in undone):
            yield f"{case.name} {run_id} was not undone: {undone}"
        elif [step.finished_at for step in undone] != sorted(step.finished_at for step in undone):
            yield f"{case.name} {run_id} was undone in another order"


def _schedules_fire_once(rest: Rest) -> Iterator[str]:
    yield from clockwork.faults(rest.rows)


def _signals_are_taken_once(rest: Rest) -> Iterator[str]:
    takers = Counter(row.step_id for row in rest.rows("SELECT step_id FROM workflow_signals WHERE step_id IS NOT NULL"))
    for step_id, count in takers.items():
        if count != 1:
            yield f"step {step_id} took {count} signals"


_CHECKS = (
    _runs_end_as_undisturbed,
    _steps_end_as_undisturbed,
    _nothing_is_open,
    _one_run_a_start,
    _moves_are_those_of_the_table,
    _attempts_follow_one_another,
    _no_attempt_is_called_twice,
    _calls_are_attempts_and_losses,
    _calls_overlap_only_when_lost,
    _what_was_settled_was_called,
    _lines_are_kept,
    _children_are_started_once,
    _undone_in_reverse,
    _schedules_fire_once,
    _signals_are_taken_once,
)
