"""What a rerun from a step takes over of the earlier run: the steps that keep their ends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.cascade import Ended, StepRow
from orchestrator.domain.definition import Edge, Step
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.near import did_you_mean
from orchestrator.domain.recount import Truth, recount
from orchestrator.domain.rules import edge_satisfied
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, ExpressionError, NotFound
from orchestrator.ids import new_ids
from orchestrator.services.close import new_row
from orchestrator.services.scope import RunScope
from orchestrator.store import steps
from orchestrator.store.steps import NewStep


@dataclass(frozen=True, slots=True)
class Reuse:
    """Of the new run's plan: rows of the earlier run by the position that keeps its end; positions that run again.

    `rows`: all of the earlier run, `run_id`, by name.
    """

    earlier: Plan
    rows: Mapping[str, Row[Any]]
    kept: Mapping[int, Row[Any]]
    again: frozenset[int]
    run_id: str = ""


def choose(
    earlier: Plan, plan: Plan, rows: Sequence[Row[Any]], names: Sequence[str], undone: Collection[int] = ()
) -> Reuse:
    """What runs again: the steps `names`, those that were canceled, those new in `plan`, and all that depends on these.

    So do those at the positions `undone` by compensations. `rows` are those of the earlier run, which is over. Raises
    `NotFound` for an unknown name, and `Conflict` when what is to be kept is not in `plan`, or is something else there.
    """
    _check_names(plan, names)
    lost = {row.name for row in rows if row.status == StepStatus.CANCELED or row.position in undone}
    ended = {row.name: row for row in rows if row.name not in lost}
    again = _with_dependants(plan, [s.position for s in plan.steps if s.name in names or s.name not in ended])
    begun = [row.position for row in rows if row.name in names or row.name not in ended]
    earlier_again = _with_dependants(earlier, begun)
    kept = {step.position: ended[step.name] for step in plan.steps if step.position not in again}
    left_out = [n for n, row in ended.items() if n not in plan.positions and row.position not in earlier_again]
    _check_kept(earlier, plan, kept, left_out)
    return Reuse(earlier, {row.name: row for row in rows}, kept, frozenset(again))


def _check_names(plan: Plan, names: Sequence[str]) -> None:
    known = [step.name for step in plan.steps]
    for name in names:
        if name in plan.handlers:
            raise Conflict(f"'{name}' is a lifecycle handler: it runs when the run ends, whatever it is rerun from")
        if name not in plan.positions:
            raise NotFound(f"the workflow has no step '{name}'{did_you_mean(name, known)}")


def _with_dependants(plan: Plan, positions: Iterable[int]) -> set[int]:
    found = set(positions)
    for step in plan.steps:
        if not found.isdisjoint(step.sources):
            found.add(step.position)
    return found


def _check_kept(earlier: Plan, plan: Plan, kept: Mapping[int, Row[Any]], left_out: Sequence[str]) -> None:
    told = [f"'{name}' is not in it" for name in left_out]
    for position, row in kept.items():
        now, then = plan.at(position).step, earlier.at(row.position).step
        if (now.kind, now.function) != (then.kind, then.function):
            told.append(f"'{row.name}' is {_what(now)} there, and was {_what(then)}")
    if told:
        raise Conflict(f"the revision cannot keep steps of the run: {', '.join(told)}")


def _what(step: Step) -> str:
    return f"a call of '{step.function}'" if step.function is not None else f"a `{step.kind}`"


def insert(conn: Connection, scope: RunScope, reuse: Reuse) -> None:
    """Insert every step of the new run, those that are kept as they ended, the others pending; tallies are counted."""
    plan = scope.plan
    statuses = {s.position: StepStatus.PENDING for s in plan.steps}
    statuses |= {position: StepStatus(row.status) for position, row in reuse.kept.items()}
    truths = {step.position: _known_truth(reuse, step) for step in plan.steps if step.conditional}
    first = recount(plan, statuses, truths)
    made = [
        replace(new_row(step, StepStatus.PENDING), id=id, tally=tally, edge_truth=truth)
        for (step, (tally, truth)), id in zip(_paired(plan, first), new_ids(len(plan.steps)), strict=True)
    ]
    _insert(conn, scope.run_id, reuse, made)
    asked = _evaluate(conn, scope, reuse, statuses, truths)
    if asked:
        rows = {p: StepRow(p, statuses[p], tally, truth) for p, (tally, truth) in first.items()}
        steps.set_tallies(conn, scope.run_id, recount(plan, statuses, asked), rows)


def _paired(plan: Plan, counted: Mapping[int, Any]) -> list[tuple[PlanStep, Any]]:
    return [(step, counted[step.position]) for step in plan.steps]


def _insert(conn: Connection, run_id: str, reuse: Reuse, made: Sequence[NewStep]) -> None:
    steps.insert_steps(conn, run_id, [step for step in made if step.position in reuse.again])
    kept = [(step, reuse.kept[step.position].id) for step in made if step.position in reuse.kept]
    if kept:
        steps.insert_reused(conn, run_id, reuse.run_id, kept)


def _known_truth(reuse: Reuse, step: PlanStep) -> dict[str, bool | str]:
    """What the earlier run's edges of kept sources said, where the step still has the same edges."""
    position = reuse.earlier.positions.get(step.name)
    before = None if position is None else reuse.earlier.at(position)
    if before is None or before.step.depends_on != step.step.depends_on:
        return {}
    row = reuse.rows.get(step.name)
    return dict(row.edge_truth or {}) if row is not None else {}


def _evaluate(
    conn: Connection,
    scope: RunScope,
    reuse: Reuse,
    statuses: Mapping[int, StepStatus],
    truths: Mapping[int, Truth],
) -> dict[int, Truth] | None:
    """`truths` with the edges of kept sources that nobody has asked yet; None when there is none."""
    unasked = [
        (step.position, index, source, edge)
        for step in scope.plan.steps
        if step.conditional
        for source in step.sources
        if source in reuse.kept
        for index, edge in _unasked(scope.plan, step, source, statuses[source], truths.get(step.position, {}))
    ]
    if not unasked:
        return None
    ends = _ends(conn, scope, sorted({source for _, _, source, _ in unasked}))
    found = {position: dict(truth) for position, truth in truths.items()}
    for position, index, source, edge in unasked:
        found.setdefault(position, {})[str(index)] = _holds(scope, edge, ends[source])
    return dict(found)


def _unasked(plan: Plan, step: PlanStep, source: int, status: StepStatus, truth: Truth) -> Collection[tuple[int, Edge]]:
    there = plan.at(source)
    return [
        (index, edge)
        for index, edge in step.edges_from(there.name)
        if edge.when is not None and str(index) not in truth and edge_satisfied(edge.on, there.step, status)
    ]


def _ends(conn: Connection, scope: RunScope, positions: Sequence[int]) -> dict[int, Ended]:
    rows = steps.load_results(conn, scope.run_id, positions)
    return {r.position: Ended(r.position, StepStatus(r.status), r.output, r.error, r.attempt) for r in rows}


def _holds(scope: RunScope, edge: Edge, end: Ended) -> bool | str:
    try:
        return scope.edge_holds(edge, end)
    except ExpressionError as error:
        return str(error)
