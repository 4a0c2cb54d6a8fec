"""An operator says how a step ended; what waited for it is decided again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.cascade import Ended, StepRow
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.precedence import PastEnd
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.domain.values import storable
from orchestrator.errors import Conflict, ExpressionError, InvalidInput, Problem, UnstorableValue
from orchestrator.services.advance import advance
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.freed import freed_queues
from orchestrator.services.halt import follow_up
from orchestrator.services.mark_begun import Mark, mark_begun
from orchestrator.services.pass_down import pass_down
from orchestrator.services.reopen import check_limit, reopen, undone
from orchestrator.services.scope import RunScope
from orchestrator.services.stop_items import stop_items
from orchestrator.store import begun_rows, events, operator_transition, run_transition, runs, steps
from orchestrator.store.reads.steps import unknown_step
from orchestrator.store.runs import RunFacts

_MARKS = (StepStatus.SUCCEEDED, StepStatus.SKIPPED)
_REOPENED = (RunStatus.FAILED, RunStatus.CANCELED)


def mark(
    engine: Engine,
    run_id: str,
    name: str,
    status: StepStatus,
    *,
    output: Any = None,
    force: bool = False,
    reason: str | None = None,
    actor: str = "cli",
) -> int:
    """End the step `name` as succeeded, with `output`, or as skipped; how many other steps were opened again.

    A failed or canceled run goes on, as after a retry: canceled steps are opened, and those that did not run because of
    the marked one; other failures stay. `force` cuts off an attempt under way. The step publishes what it would have
    with this output. Raises `NotFound`, `Conflict` when run or step are past it, `InvalidInput` for the output.
    """
    output_json = _checked(engine, status, output)
    with engine.db.transaction() as conn:
        plan = engine.plans.get(conn, runs.load_run(conn, run_id).revision_id)
        begun = begun_rows.find_begun(conn, run_id, name) if plan.code else None
        if begun is not None:
            scope = RunScope(engine, conn, plan, run_id)
            told = Mark(begun, name, status, output_json, force, reason, actor)
            opened, advanced = mark_begun(conn, scope, told)
    if begun is not None:
        dispatch(engine, follow_up(engine, run_id, advanced) | pass_down(engine, run_id))
        return opened
    return _mark(engine, run_id, name, status, output, output_json, force=force, reason=reason, actor=actor)


def _mark(
    engine: Engine,
    run_id: str,
    name: str,
    status: StepStatus,
    output: Any,
    output_json: str | None,
    *,
    force: bool,
    reason: str | None,
    actor: str,
) -> int:
    with engine.db.transaction() as conn:
        plan = engine.plans.get(conn, runs.load_run(conn, run_id).revision_id)
        rows = steps.lock_all_steps(conn, run_id, plan.end)
        facts = runs.load_run(conn, run_id, lock=True)  # as it is under the locks
        step = _find(conn, plan, run_id, name)
        _check(plan, facts, rows, step)
        _check_step(rows[step.position].status, name, status, force)
        ends = steps.load_ends(conn, run_id, range(len(plan.steps)))
        opened = _to_open(plan, rows, ends, step.position, _undone(conn, plan, facts))
        reopen(conn, plan, run_id, rows, opened, uncounted=[step.position])
        if facts.status in _REOPENED:
            run_transition.reopen_run(conn, run_id, plan.definition.timeout)
        scope = RunScope(engine, conn, plan, run_id)
        if status is StepStatus.SUCCEEDED:
            _publish(scope, step, output)
        step_id = operator_transition.mark_step(conn, run_id, step.position, status, output_json)
        told: dict[str, Any] = {
            "step": name,
            "status": status,
            "was": rows[step.position].status,
            "opened": len(opened),
        }
        events.act(conn, run_id, "step.marked", "mark", actor, reason, step_id=step_id, **told)
        advanced = advance(conn, scope, [Ended(step.position, status, output)], sorted(opened))
        freed = freed_queues(conn, plan)
    queues = freed | follow_up(engine, run_id, advanced) | stop_items(engine, run_id, step.position)
    dispatch(engine, queues | pass_down(engine, run_id))
    return len(opened)


def _checked(engine: Engine, status: StepStatus, output: Any) -> str | None:
    """The output's JSON text."""
    if status not in _MARKS:
        raise InvalidInput([Problem("", f"a step is marked succeeded or skipped, not {status}")], "mark")
    if status is StepStatus.SKIPPED:
        if output is not None:
            raise InvalidInput([Problem("output", "a skipped step has none")], "mark")
        return None
    try:
        return str(storable(output, max_bytes=engine.settings.max_output_bytes)[1])
    except UnstorableValue as error:
        where = error.path.replace("$", "output", 1)
        raise InvalidInput([Problem(where, str(error).split(": ", 1)[-1])], "mark") from error


def _find(conn: Connection, plan: Plan, run_id: str, name: str) -> PlanStep:
    known = [*plan.steps, *plan.afterwards]
    found = next((here for here in known if here.name == name), None)
    if found is None:
        raise unknown_step(conn, run_id, name)
    return found


def _check(plan: Plan, facts: RunFacts, rows: Mapping[int, StepRow], step: PlanStep) -> None:
    """Raises `Conflict` when the run's end no longer hangs on the step, or is being made."""
    if step.position >= len(plan.steps):
        if step.position not in rows or rows[step.position].status.terminal:
            raise Conflict(f"the handler '{step.name}' is not under way: only then it can be marked")
        return
    if facts.status is RunStatus.SUCCEEDED:
        raise Conflict("the run is succeeded: its steps cannot be marked; rerun it from a step")
    if facts.status in _REOPENED:
        return
    stopping = any(row.status is StepStatus.CANCELED for row in rows.values())
    if facts.final_status is not None or facts.halting is not None or stopping:
        ending = f"ending as {facts.final_status}" if facts.final_status else "being stopped after a failure"
        raise Conflict(f"the run is {ending}: its steps can be marked once it has ended")


def _check_step(was: StepStatus, name: str, status: StepStatus, force: bool) -> None:
    if was is StepStatus.SUCCEEDED or was is status:
        raise Conflict(f"step '{name}' is {was} already")
    if was is StepStatus.RUNNING and not force:
        raise Conflict(f"step '{name}' is running: only force cuts it off and marks it")


def _undone(conn: Connection, plan: Plan, facts: RunFacts) -> set[int]:
    """What compensations have undone of a run that goes on, which has to be in its workflow's limit for that."""
    if facts.status not in _REOPENED:
        return set()
    check_limit(conn, plan, facts)
    return undone(conn, plan, facts.id)


def _to_open(
    plan: Plan, rows: Mapping[int, StepRow], ends: Mapping[int, PastEnd], marked: int, undone: set[int]
) -> set[int]:
    """Canceled and undone steps, and those behind the marked one that did not run for what it, or one of them, was."""
    opened: set[int] = set()
    for step in plan.steps:
        status = rows[step.position].status
        decided = status.terminal and not ends[step.position].ran  # what skipped itself ran, what was marked stays
        behind = marked in step.sources or not opened.isdisjoint(step.sources)
        again = status is StepStatus.CANCELED or step.position in undone
        if step.position != marked and (again or (decided and behind)):
            opened.add(step.position)
    return opened


def _publish(scope: RunScope, step: PlanStep, output: Any) -> None:
    try:
        scope.publish(step.step.publish, {"result": output})
    except ExpressionError as error:
        problem = Problem("output", f"what '{step.name}' publishes cannot be made of it: {error}")
        raise InvalidInput([problem], "mark") from error
