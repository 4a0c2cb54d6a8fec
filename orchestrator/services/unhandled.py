"""Which failures nobody handled (docs/definition.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.definition import EdgeOn, OnError
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.states import STEP_OPEN
from orchestrator.store import steps

_HANDLED = (OnError.IGNORE, OnError.CONTINUE)


def unhandled(conn: Connection, plan: Plan, run_id: str) -> list[Row[Any]]:
    """Failed steps, first to fail first, that neither `on_error` nor a started `on: failure` step handles."""
    return _unhandled(conn, plan, run_id, open_may_handle=False)


def certainly_unhandled(conn: Connection, plan: Plan, run_id: str) -> list[Row[Any]]:
    """Those no step that is still open can come to handle either."""
    return _unhandled(conn, plan, run_id, open_may_handle=True)


def _unhandled(conn: Connection, plan: Plan, run_id: str, *, open_may_handle: bool) -> list[Row[Any]]:
    failed = [row for row in steps.load_failed(conn, run_id) if row.position < len(plan.steps)]
    failed = [row for row in failed if plan.at(row.position).step.on_error not in _HANDLED]
    catchers = {row.position: _catchers(plan, plan.at(row.position)) for row in failed}
    states = steps.load_states(conn, run_id, sorted({c for cs in catchers.values() for c in cs}))
    caught = {s.position for s in states if s.started or (open_may_handle and s.status in STEP_OPEN)}
    return [row for row in failed if not caught.intersection(catchers[row.position])]


def _catchers(plan: Plan, step: PlanStep) -> Sequence[int]:
    """Steps with an `on: failure` edge from `step`."""
    return [d for d in step.dependants if any(e.on is EdgeOn.FAILURE for _, e in plan.at(d).edges_from(step.name))]
