"""Stop the items of a step: of one that has failed without them, or one of whose items failed under `fail_fast`.

It is noted with the failure and carried out afterwards, in a transaction of its own, for the reason halts are
(docs/adr/0009). What a crash leaves, the coordinator carries out.
"""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.domain.definition import StepKind
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import Reason
from orchestrator.services.advance import advance
from orchestrator.services.advanced import Advanced
from orchestrator.services.close import close_run
from orchestrator.services.engine import Engine
from orchestrator.services.freed import freed_queues
from orchestrator.services.halt import follow_up
from orchestrator.services.halt_items import cancel_items
from orchestrator.services.pass_down import pass_down
from orchestrator.services.revoke import revoke_called
from orchestrator.services.scope import RunScope
from orchestrator.store import begun_rows, item_rows, runs, steps, transition
from orchestrator.store.item_rows import Fan


def stop_items(engine: Engine, run_id: str, position: int) -> frozenset[str]:
    """Carry out what was noted on the step at `position`, if anything was; the queues to dispatch."""
    with engine.db.transaction() as conn:
        fan = item_rows.lock_owner(conn, run_id, position)
        if fan is None or fan.stop is None:
            return frozenset()
        plan = engine.plans.get(conn, runs.load_run(conn, run_id).revision_id)
        if plan.code:
            _cancel_begun(conn, plan, run_id, Reason(fan.stop))
        else:
            cancel_items(conn, run_id, Reason(fan.stop), fan.first)
            item_rows.recount(conn, run_id, fan.first, stopped=True)
        closing = _go_on(conn, RunScope(engine, conn, plan, run_id), fan)
        freed = freed_queues(conn, plan)
    revoke_called(engine, plan, run_id)
    kind = plan.at(position).step.kind
    below = pass_down(engine, run_id) if kind in (StepKind.WORKFLOW, StepKind.CODE) else frozenset[str]()
    return follow_up(engine, run_id, closing) | below | freed


def _cancel_begun(conn: Connection, plan: Plan, run_id: str, reason: Reason) -> None:
    """What a function has begun, and left open as it ended."""
    steps.lock_all_steps(conn, run_id, 0)
    transition.cancel_unstarted(conn, run_id, reason, plan.end)
    transition.cancel_running(conn, run_id, reason, plan.end)
    begun_rows.recount(conn, run_id)


def _go_on(conn: Connection, scope: RunScope, fan: Fan) -> Advanced:
    """The step, which waits for its items, ends; of one that has ended they may be the last thing its run waits for."""
    if fan.finished:
        return close_run(conn, scope, advance)
    return Advanced(others=frozenset(transition.wake(conn, [fan.id])))
