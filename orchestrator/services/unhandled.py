"""Which failures nobody handled (docs/definition.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.definition import EdgeOn, OnError
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.states import STEP_OPEN
from orchestrator.store import steps

_HANDLED = (OnError.IGNORE, OnError.CONTINUE)


def unhandled(conn: Connection, plan: Plan, run_id: str) -> list[Row[Any]]:
    """Failed steps, first to fail first, that neither `on_error` nor a started `on: failure` step handles."""
    asked = [step.position for step in plan.steps if step.step.on_error not in _HANDLED]
    return _unhandled(conn, plan, run_id, asked, open_may_handle=False)


def any_certainly_unhandled(
    conn: Connection, plan: Plan, run_id: str, failed: Iterable[int], missed: Iterable[int]
) -> bool:
    """Whether some failure is one that no step that is still open can come to handle either.

    Asked are those that `failed` now and those that a step could have handled that now `missed` to run; earlier ones
    were asked about then. So an end costs what it ended, however many failures the run has.
    """
    asked = {*failed, *(source for position in missed for source in _caught_by(plan, position))}
    wanted = [p for p in sorted(asked) if p < len(plan.steps) and plan.at(p).step.on_error not in _HANDLED]
    return bool(wanted and _unhandled(conn, plan, run_id, wanted, open_may_handle=True))


def _unhandled(
    conn: Connection, plan: Plan, run_id: str, asked: Sequence[int], *, open_may_handle: bool
) -> list[Row[Any]]:
    failed = steps.load_failed(conn, run_id, asked)
    catchers = {row.position: _catchers(plan, plan.at(row.position)) for row in failed}
    states = steps.load_states(conn, run_id, sorted({c for cs in catchers.values() for c in cs}))
    caught = {s.position for s in states if s.started or (open_may_handle and s.status in STEP_OPEN)}
    return [row for row in failed if not caught.intersection(catchers[row.position])]


def _caught_by(plan: Plan, position: int) -> Sequence[int]:
    """Steps from which the step has an `on: failure` edge."""
    step = plan.at(position)
    return [s for s in step.sources if any(e.on is EdgeOn.FAILURE for _, e in step.edges_from(plan.at(s).name))]


def _catchers(plan: Plan, step: PlanStep) -> Sequence[int]:
    """Steps with an `on: failure` edge from `step`."""
    return [d for d in step.dependants if any(e.on is EdgeOn.FAILURE for _, e in plan.at(d).edges_from(step.name))]
