"""End a run whose steps have all ended: its outcome, its output, its lifecycle handlers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.graph import PlanStep
from orchestrator.domain.inputs import check_output
from orchestrator.domain.rules import Tally
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.domain.values import storable
from orchestrator.errors import ExpressionError, UnstorableValue
from orchestrator.ids import new_id
from orchestrator.services.admit import admit
from orchestrator.services.advanced import Advance, Advanced
from orchestrator.services.blobs import put_run_output
from orchestrator.services.scope import RunScope
from orchestrator.services.unhandled import unhandled
from orchestrator.store import events, run_transition, runs, steps, transition, undone
from orchestrator.store.runs import RunFacts
from orchestrator.store.steps import NewStep

_STATUS_HANDLER = {
    RunStatus.SUCCEEDED: "on_success",
    RunStatus.FAILED: "on_failure",
    RunStatus.CANCELED: "on_cancel",
}
_DO_NOT_END = (RunStatus.PENDING, RunStatus.PAUSED)


def close_run(conn: Connection, scope: RunScope, advance: Advance) -> Advanced:
    """End the run if nothing of it is open, or start its next compensation or handler.

    The run's row is locked last of all, and only by steps that leave no dependant open; of two that end at
    the same time the second sees the first (docs/adr/0004). A paused run starts no handler and does not end, nor
    does one that waits for its turn, and one that is to be stopped is ended by its halt, which knows why.
    """
    advanced, ended = Advanced(), set[int]()
    while not scope.closing:
        facts = runs.load_run(conn, scope.run_id, lock=True)
        if _stays_open(facts) or steps.any_open(conn, scope.run_id):
            break
        if facts.handler_stage == 0:
            facts = _decide(conn, scope, facts)
        final = facts.final_status or RunStatus.SUCCEEDED
        handler = _next_handler(conn, scope, facts, final, ended)
        if handler is None:
            run_transition.end_run(conn, scope.run_id, final)
            events.record(conn, scope.run_id, f"run.{final}")
            others, child_over = _admitted(conn, scope, facts, advance), facts.parent_run_id is not None
            return replace(advanced, others=others, child_over=child_over)
        ended.add(handler.position)
        advanced = _start_handler(conn, scope, handler, advance)
    return advanced


def _next_handler(
    conn: Connection, scope: RunScope, facts: RunFacts, final: RunStatus, ended: set[int]
) -> PlanStep | None:
    """The compensation or handler whose turn it is; those at `ended` began, and ended, in this transaction."""
    undo = _next_to_undo(conn, scope, final, ended) if facts.handler_stage == 0 else None
    if undo is not None:
        return undo
    for stage, name in ((1, _STATUS_HANDLER[final]), (2, "on_finish")):
        handler = scope.plan.handlers.get(name)
        if stage > facts.handler_stage and handler is not None:
            runs.set_handler_stage(conn, scope.run_id, stage)
            return handler
    return None


def _next_to_undo(conn: Connection, scope: RunScope, final: RunStatus, ended: set[int]) -> PlanStep | None:
    """The compensation of the step that succeeded last and is not undone yet, when the run does not succeed.

    One after the other: the next one follows whatever the end of this one is.
    """
    if final is RunStatus.SUCCEEDED or not scope.plan.compensations:
        return None
    places = scope.plan.compensations.items()
    pairs = {place: undo.position for place, undo in places if undo.position not in ended}
    last = undone.last_not_undone(conn, scope.run_id, pairs)
    return None if last is None else scope.plan.compensations[last]


def _admitted(conn: Connection, scope: RunScope, facts: RunFacts, advance: Advance) -> frozenset[str]:
    """Its end may be another run's turn; not that of one that never had its own."""
    if scope.admitting or facts.limit_key is None or facts.started_at is None:
        return frozenset()
    return admit(scope.engine, conn, facts.workflow_id, facts.limit_key, advance, close_run)


def _stays_open(facts: RunFacts) -> bool:
    return facts.status.terminal or facts.status in _DO_NOT_END or facts.halting is not None


def _decide(conn: Connection, scope: RunScope, facts: RunFacts) -> RunFacts:
    """Decide, once, what the run ends as."""
    if facts.final_status is not None:
        return facts
    final, error, output_json = RunStatus.SUCCEEDED, None, None
    failed = unhandled(conn, scope.plan, scope.run_id)
    if failed:
        first = failed[0]
        final = RunStatus.FAILED
        error = {"type": first.error["type"], "message": first.error["message"], "step": first.name}
    else:
        error, output_json = _make_output(conn, scope)
        final = RunStatus.FAILED if error else RunStatus.SUCCEEDED
    run_transition.decide_end(conn, scope.run_id, final, error, output_json)
    return runs.load_run(conn, scope.run_id) or facts


def _make_output(conn: Connection, scope: RunScope) -> tuple[dict[str, Any] | None, str | None]:
    """The run's error, or the JSON text of its output."""
    definition = scope.plan.definition
    try:
        has_own = definition.has_output
        output = scope.render(definition.output, pass_on=True) if has_own else _leaf_outputs(conn, scope)
        output, output_json = storable(output, max_bytes=scope.engine.most_bytes, blobs=True)
        if definition.output_schema is not None:
            problems = check_output(definition.output_schema, scope.engine.blobs.whole(output))
            if problems:
                return _run_error("OutputSchemaError", "; ".join(map(str, problems))), None
    except (ExpressionError, UnstorableValue) as error:
        return _run_error("OutputError", f"the run's output could not be made: {error}"), None
    return None, put_run_output(scope.engine.blobs, scope.run_id, output, output_json)


def _leaf_outputs(conn: Connection, scope: RunScope) -> dict[str, Any]:
    leaves = [step.position for step in scope.plan.leaves]
    rows = steps.load_results(conn, scope.run_id, leaves)
    return {row.name: row.output for row in sorted(rows, key=lambda row: row.position)}


def _run_error(kind: str, message: str) -> dict[str, Any]:
    return {"type": kind, "message": message, "step": None}


def _start_handler(conn: Connection, scope: RunScope, handler: PlanStep, advance: Advance) -> Advanced:
    """Make the handler's row (or reopen the one of the run's earlier life) and start it like a root."""
    if steps.lock_steps(conn, scope.run_id, [handler.position]):
        policy = handler.step.retry
        transition.reopen_steps(conn, scope.run_id, {handler.position: policy.max_attempts if policy else None})
    else:
        steps.insert_steps(conn, scope.run_id, [new_row(handler, StepStatus.PENDING)])
    fresh = RunScope(scope.engine, conn, scope.plan, scope.run_id)
    fresh.closing = True
    return advance(conn, fresh, [], [handler.position])


def new_row(step: PlanStep, status: StepStatus) -> NewStep:
    """A step's row as it is before anything happened to it."""
    total = len(step.sources)
    each = step.step.with_items is not None  # its items call the function
    policy = None if each else step.step.retry
    return NewStep(
        id=new_id(),
        position=step.position,
        name=step.name,
        function=None if each else step.step.function,
        leaf=not step.dependants,
        status=status,
        queue=None,
        priority=step.step.priority,
        pool=None if each else step.step.pool,
        slots=1 if each else step.step.slots,
        tally=Tally(total=total, remaining=total),
        max_attempts=policy.max_attempts if policy else None,
    )
