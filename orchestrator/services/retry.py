"""An operator's retry: a failed or canceled run goes on where it stopped; succeeded steps are not run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan
from orchestrator.domain.states import Reason, RunStatus, StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.advance import advance
from orchestrator.services.advanced import Advanced
from orchestrator.services.close import close_run
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.halt import follow_up
from orchestrator.services.reopen import check_limit, reopen, undone
from orchestrator.services.reopen_begun import reopen_begun
from orchestrator.services.scope import RunScope
from orchestrator.store import events, run_transition, runs, steps

_AGAIN = frozenset({StepStatus.FAILED, StepStatus.CANCELED, StepStatus.UPSTREAM_FAILED})


def retry(
    engine: Engine, run_id: str, *, reason: str | None = None, actor: str = "cli", bulk_id: str | None = None
) -> int:
    """Retry; how many steps were opened again. Raises `NotFound`, or `Conflict` when the run did not end badly.

    Opened again: failed, canceled and upstream-failed steps, skipped ones that depend on such (but for those that an
    operator marked so), and succeeded ones whose compensation has undone them; of a step's items, those that failed or
    were canceled; of a function's, see services/reopen_begun.py. Each has its attempts anew; their history stays.
    """
    with engine.db.transaction() as conn:
        opened, advanced = retry_within(conn, engine, run_id, reason, actor, bulk_id)
    dispatch(engine, follow_up(engine, run_id, advanced))
    return opened


def retry_within(
    conn: Connection, engine: Engine, run_id: str, reason: str | None, actor: str, bulk_id: str | None = None
) -> tuple[int, Advanced]:
    """The same within a transaction, whose commit is to be followed up; a `Conflict` has changed nothing."""
    facts = runs.load_run(conn, run_id)
    plan = engine.plans.get(conn, facts.revision_id)
    rows = steps.lock_all_steps(conn, run_id, plan.end)
    facts = runs.load_run(conn, run_id, lock=True)  # as it is under the locks
    if facts.status not in (RunStatus.FAILED, RunStatus.CANCELED):
        raise Conflict(f"the run is {facts.status}: only a failed or canceled run can be retried")
    check_limit(conn, plan, facts)
    statuses = {position: row.status for position, row in rows.items()}
    opened = _to_open(plan, statuses, undone(conn, plan, run_id), _marked(conn, run_id, statuses))
    reopen(conn, plan, run_id, rows, opened)
    run_transition.reopen_run(conn, run_id, plan.definition.timeout)
    begun, queues = reopen_begun(conn, run_id) if plan.code else (0, frozenset())
    count = len(opened) + begun
    events.act(conn, run_id, "run.retried", "retry", actor, reason, bulk_id=bulk_id, steps=count)
    advanced = _go_on(conn, engine, plan, run_id, opened)
    return count, replace(advanced, others=advanced.others | queues)


def _marked(conn: Connection, run_id: str, statuses: Mapping[int, StepStatus]) -> set[int]:
    """Skipped steps that an operator said are to be skipped."""
    skipped = [position for position, status in statuses.items() if status is StepStatus.SKIPPED]
    ends = steps.load_ends(conn, run_id, skipped) if skipped else {}
    return {position for position, end in ends.items() if end.reason == Reason.MARKED}


def _to_open(plan: Plan, statuses: Mapping[int, StepStatus], undone: set[int], marked: set[int]) -> set[int]:
    opened: set[int] = set()
    for step in plan.steps:
        status = statuses[step.position]
        skipped = status is StepStatus.SKIPPED and step.position not in marked
        skipped_after_it = skipped and not opened.isdisjoint(step.sources)
        if status in _AGAIN or skipped_after_it or step.position in undone:
            opened.add(step.position)
    return opened


def _go_on(conn: Connection, engine: Engine, plan: Plan, run_id: str, opened: set[int]) -> Advanced:
    """Decide every opened step anew from its tally; a run whose steps had all ended well ends anew at once."""
    scope = RunScope(engine, conn, plan, run_id)
    if not opened:
        return close_run(conn, scope, advance)
    return advance(conn, scope, [], sorted(opened))
