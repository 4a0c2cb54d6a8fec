"""Run a run once more: a new run with the same input, or one that goes on from a step with what the earlier gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, Row

from orchestrator.domain.definition import EdgeOn
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.errors import Conflict, NotFound
from orchestrator.ids import new_id
from orchestrator.services.advance import advance
from orchestrator.services.engine import Engine
from orchestrator.services.put_away import copy_kept
from orchestrator.services.reopen import undone
from orchestrator.services.reuse import Reuse, choose, insert
from orchestrator.services.scope import RunScope
from orchestrator.services.start import Made, follow, fresh_rows, in_turn, set_vars, start_steps
from orchestrator.services.start_plain import Started, checked_input
from orchestrator.services.unhandled import unhandled
from orchestrator.store import events, outcomes, runs, steps, workflows
from orchestrator.store.runs import NewRun
from orchestrator.store.workflows import Revision

# Of the workflow: the one the run had, the newest, or one by its number.
WhichRevision = int | Literal["same", "latest"]


@dataclass(frozen=True, slots=True)
class Rerun:
    """The new run. `kept` steps have their earlier ends; of these `failing` will fail the run anew."""

    run_id: str
    kept: int = 0
    failing: tuple[str, ...] = ()


def rerun(
    engine: Engine,
    run_id: str,
    *,
    input: Any = None,
    revision: WhichRevision = "same",
    from_steps: Sequence[str] | str = (),
    reason: str | None = None,
    actor: str = "cli",
    bulk_id: str | None = None,
) -> Rerun:
    """Start a new run of the run's workflow, in its app, with its tags; `input` None is the run's own.

    With `from_steps`, for a run that is over, these steps, what was canceled, and all that depends on them run again;
    the others keep their ends (services/reuse.py). Raises `NotFound`, `Conflict` and `InvalidInput`; no run is made.
    """
    names = [from_steps] if isinstance(from_steps, str) else list(from_steps)
    new_run = new_id()
    if names and engine.blobs:
        copy_kept(engine, _kept_references(engine, run_id, revision, names), new_run)  # before there is a lock
    with engine.db.transaction() as conn:
        origin = runs.load_origin(conn, run_id, lock=bool(names))
        if names and not RunStatus(origin.status).terminal:
            raise Conflict(f"the run is {origin.status}: only a run that is over can be rerun from a step")
        wanted = _revision(conn, origin, revision)
        plan, earlier = engine.plans.of(wanted), engine.plans.get(conn, origin.revision_id)
        if names and (plan.code or earlier.code):
            raise Conflict("the run is one of a function, which begins anew: it cannot be rerun from a step; retry it")
        reuse = _reuse(conn, earlier, plan, run_id, names) if names else None
        new = in_turn(engine, conn, plan, _new_run(engine, new_run, plan, earlier, wanted, origin, input))
        runs.insert_run(conn, new)
        set_vars(engine, conn, plan, new.id)
        events.record(conn, new.id, "run.started", {"actor": actor, "rerun_of": run_id})
        told: dict[str, Any] = {
            "run": new.id,
            "revision": wanted.number,
            "new_input": input is not None,
            "from": list(from_steps),
        }
        events.act(conn, run_id, "run.rerun", "rerun", actor, reason, bulk_id=bulk_id, **told)
        made = _keep(conn, RunScope(engine, conn, plan, new.id), reuse, origin.vars) if reuse else Rerun(new.id)
        begun = _begin(engine, conn, plan, new, reuse)
    follow(engine, [begun])
    return made


def _kept_references(engine: Engine, run_id: str, revision: WhichRevision, names: Sequence[str]) -> Sequence[str]:
    """JSON texts with the references to the blob store that the new run takes over."""
    with engine.db.transaction() as conn:
        origin = runs.load_origin(conn, run_id)
        plan, earlier = engine.plans.of(_revision(conn, origin, revision)), engine.plans.get(conn, origin.revision_id)
        kept = _reuse(conn, earlier, plan, run_id, names).kept
        return steps.load_references(conn, [row.id for row in kept.values()])


def _revision(conn: Connection, origin: Row[Any], wanted: WhichRevision) -> Revision:
    if wanted == "same":
        return workflows.load_revision(conn, origin.revision_id)
    found = workflows.find_numbered(conn, origin.workflow_id, None if wanted == "latest" else wanted)
    if found is None:
        raise NotFound(f"workflow '{origin.workflow}' has no revision {wanted}: its latest is {origin.latest_revision}")
    return found


def _reuse(conn: Connection, earlier: Plan, plan: Plan, run_id: str, names: Sequence[str]) -> Reuse:
    rows = outcomes.load_earlier(conn, run_id, len(earlier.steps))
    return replace(choose(earlier, plan, rows, names, undone(conn, earlier, run_id)), run_id=run_id)


def _new_run(
    engine: Engine, id: str, plan: Plan, earlier: Plan, revision: Revision, origin: Row[Any], input: Any
) -> NewRun:
    own = set(earlier.definition.tags)
    return NewRun(
        id=id,
        workflow_id=revision.workflow_id,
        revision_id=revision.id,
        app_id=origin.app_id,
        input=checked_input(engine, plan, origin.input if input is None else input),
        vars={},
        tags=[*plan.definition.tags, *(tag for tag in origin.tags if tag not in own)],
        idempotency_key=None,
        step_count=len(plan.steps),
        timeout=plan.definition.timeout,
        rerun_of_id=origin.id,
    )


def _begin(engine: Engine, conn: Connection, plan: Plan, new: NewRun, reuse: Reuse | None) -> Made:
    """Start the new run, or let it wait for its turn."""
    started = Started(new.id, created=True)
    if new.pending:
        if reuse is None:
            steps.insert_steps(conn, new.id, fresh_rows(plan))
        return Made(started, waits=(new.workflow_id, new.limit_key or ""))
    if reuse is None:
        return Made(started, start_steps(engine, conn, plan, new.id))
    return Made(started, advance(conn, RunScope(engine, conn, plan, new.id), [], sorted(reuse.again)))


def _keep(conn: Connection, scope: RunScope, reuse: Reuse, variables: Mapping[str, Any]) -> Rerun:
    """Insert the steps, with what kept ones published."""
    kept = {name: variables[name] for name in _published(scope.plan, reuse) if name in variables}
    if kept:
        runs.publish_vars(conn, scope.run_id, kept)
    insert(conn, scope, reuse)
    failed = unhandled(conn, scope.plan, scope.run_id)
    failing = tuple(row.name for row in failed if not _may_be_caught(scope.plan, row.position, reuse))
    return Rerun(scope.run_id, len(reuse.kept), failing)


def _may_be_caught(plan: Plan, position: int, reuse: Reuse) -> bool:
    """Whether a step that runs again may handle the failure of a kept one."""
    here = plan.at(position)
    again = [plan.at(d) for d in here.dependants if d in reuse.again]
    return any(edge.on is EdgeOn.FAILURE for step in again for _, edge in step.edges_from(here.name))


def _published(plan: Plan, reuse: Reuse) -> set[str]:
    """The variables that kept steps have set."""
    names: set[str] = set()
    for position, row in reuse.kept.items():
        step = plan.at(position).step
        if row.status == StepStatus.SUCCEEDED:
            names |= step.publish.keys()
        elif row.status == StepStatus.FAILED:
            names |= step.publish_on_failure.keys()
    return names
