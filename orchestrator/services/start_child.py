"""Start a run for a step of another run, or go on with the one an earlier life of that step has started."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan
from orchestrator.domain.states import RunStatus
from orchestrator.errors import ChildLoop, Conflict
from orchestrator.services.advanced import Advanced
from orchestrator.services.engine import Engine
from orchestrator.services.pass_down import ACTOR
from orchestrator.services.retry import retry_within
from orchestrator.services.start import Made, begin, in_turn
from orchestrator.services.start_plain import Started
from orchestrator.store import children, events, run_transition, runs
from orchestrator.store.runs import NewRun


def start_child(engine: Engine, conn: Connection, plan: Plan, run: NewRun, child_id: str | None = None) -> Made:
    """Insert the run with its steps, in the transaction that lets its parent's step wait for it.

    `child_over`: it has ended already. Raises `Conflict` when its workflow's limit refuses it, and `InvalidInput` when
    that cannot be told; nothing was written then.
    """
    run, step_id = in_turn(engine, conn, plan, run), run.parent_step_id
    assert step_id is not None
    runs.insert_run(conn, run)
    children.link(conn, step_id, run.id, child_id)
    events.record(conn, run.id, "run.started", {"actor": f"{ACTOR} {run.parent_run_id}"})
    if children.paused_parent(conn, run.id) is not None:
        told = "its parent is paused"
        run_transition.move_run(conn, run.id, RunStatus.PAUSED, {RunStatus.RUNNING}, told, with_parent=True)
    return _told(conn, begin(engine, conn, plan, run))


def start_named(engine: Engine, conn: Connection, plan: Plan, run: NewRun, child_id: str) -> Made:
    """The same of a child with a name of its own; the step is attached to one that has it already.

    Two steps that ask for it at the same moment get one child. Who is attached waits for its end, and does not
    govern it. Raises `ChildLoop` where that one waits for the run of the step, and `start_child`'s.
    """
    step_id = run.parent_step_id
    assert step_id is not None
    children.lock_name(conn, run.workflow_id, child_id)
    there = children.find_named(conn, run.workflow_id, child_id)
    if there is None:
        return start_child(engine, conn, plan, run, child_id)
    if run.parent_run_id is not None and children.waits_for(conn, there.id, run.parent_run_id):
        raise ChildLoop(f"the child '{child_id}' is run {there.id}, which waits for this run: neither would ever end")
    children.link(conn, step_id, there.id)
    children.note_attached(conn, step_id, there.id)
    return Made(Started(there.id, created=False), Advanced(child_over=children.is_over(conn, there.id)))


def go_on_with(engine: Engine, conn: Connection, step_id: str, child_run_id: str) -> Made:
    """Count on the run again, in the same transaction; one that failed or was canceled is retried.

    Raises `Conflict` when its workflow's limit refuses that; nothing was written then.
    """
    advanced = _retried(engine, conn, child_run_id)
    children.count_on(conn, child_run_id)
    children.link(conn, step_id, child_run_id)
    return _told(conn, Made(Started(child_run_id, created=False), advanced))


def _retried(engine: Engine, conn: Connection, child_run_id: str) -> Advanced:
    row = children.load_child(conn, child_run_id)
    if row is None or row.status not in (RunStatus.FAILED, RunStatus.CANCELED):
        return Advanced()
    try:
        actor = f"{ACTOR} {row.parent_run_id}"
        return retry_within(conn, engine, child_run_id, "its parent's step is tried again", actor)[1]
    except Conflict:
        again = children.load_child(conn, child_run_id)
        if again is not None and again.status == row.status:
            raise
        return Advanced()  # somebody has retried it at the same moment


def _told(conn: Connection, made: Made) -> Made:
    """The parent's step learns at once of a child that has ended within the same transaction, or before."""
    return replace(made, advanced=replace(made.advanced, child_over=children.note_told(conn, made.started.run_id)))
