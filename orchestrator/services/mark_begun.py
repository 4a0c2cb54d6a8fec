"""An operator says how a step ended that a function has begun; the function goes on with that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.advance import advance
from orchestrator.services.advanced import Advanced
from orchestrator.services.reopen import check_limit, reopen
from orchestrator.services.reopen_begun import reopen_begun
from orchestrator.services.scope import RunScope
from orchestrator.store import begun_rows, events, item_rows, operator_transition, run_transition, runs, steps


@dataclass(frozen=True, slots=True)
class Mark:
    """What the operator says of the step at a position: its end, and the JSON text of its output."""

    position: int
    name: str
    status: StepStatus
    output_json: str | None
    force: bool
    reason: str | None
    actor: str


def mark_begun(conn: Connection, scope: RunScope, mark: Mark) -> tuple[int, Advanced]:
    """As `mark`; of a failed or canceled run, what else failed last is done again. Raises `Conflict`, also where the
    workflow's limit has no place for the run."""
    plan, run_id = scope.plan, scope.run_id
    rows = steps.lock_all_steps(conn, run_id, plan.end)
    facts = runs.load_run(conn, run_id, lock=True)
    was, over = rows[mark.position].status, facts.status in (RunStatus.FAILED, RunStatus.CANCELED)
    _check(facts.status, was, mark)
    if over:
        check_limit(conn, plan, facts)
        begun_rows.forget_failures(conn, run_id)
    if begun_rows.is_known(conn, run_id, mark.position):
        raise Conflict(
            f"the function has gone on after step '{mark.name}', which is {was}: it cannot be marked any more"
        )
    opened, advanced = _go_on(conn, plan, scope, mark.position) if over else (0, Advanced())
    step_id = operator_transition.mark_step(conn, run_id, mark.position, mark.status, mark.output_json)
    if not was.terminal:
        queues = item_rows.count_ended(conn, run_id, 0, 1, 0)
        advanced = replace(advanced, others=advanced.others | queues)
    told: dict[str, Any] = {"step": mark.name, "status": mark.status, "was": was, "opened": opened}
    events.act(conn, run_id, "step.marked", "mark", mark.actor, mark.reason, step_id=step_id, **told)
    return opened, advanced


def _check(run: RunStatus, was: StepStatus, mark: Mark) -> None:
    if run not in (RunStatus.FAILED, RunStatus.CANCELED, RunStatus.RUNNING, RunStatus.PAUSED):
        raise Conflict(f"the run is {run}: its steps cannot be marked")
    if was is StepStatus.SUCCEEDED or was is mark.status:
        raise Conflict(f"step '{mark.name}' is {was} already")
    if was is StepStatus.RUNNING and not mark.force:
        raise Conflict(f"step '{mark.name}' is running: only force cuts it off and marks it")


def _go_on(conn: Connection, plan: Plan, scope: RunScope, position: int) -> tuple[int, Advanced]:
    """The run is open again, and so are its driver and what else failed."""
    rows = steps.lock_all_steps(conn, scope.run_id, plan.end)
    reopen(conn, plan, scope.run_id, rows, [0])
    count, queues = reopen_begun(conn, scope.run_id, but=[position])
    run_transition.reopen_run(conn, scope.run_id, plan.definition.timeout)
    advanced = advance(conn, RunScope(scope.engine, conn, plan, scope.run_id), [], [0])
    return count + 1, replace(advanced, others=advanced.others | queues)
