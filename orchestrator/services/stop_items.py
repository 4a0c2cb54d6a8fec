"""Stop the items of a step: of one that has failed without them, or one of whose items failed under `fail_fast`.

It is noted with the failure and carried out afterwards, in a transaction of its own, for the reason halts are
(docs/adr/0009). What a crash leaves, the coordinator carries out.
"""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.domain.definition import StepKind
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
from orchestrator.store import item_rows, runs, transition
from orchestrator.store.item_rows import Fan


def stop_items(engine: Engine, run_id: str, position: int) -> frozenset[str]:
    """Carry out what was noted on the step at `position`, if anything was; the queues to dispatch."""
    with engine.db.transaction() as conn:
        fan = item_rows.lock_owner(conn, run_id, position)
        if fan is None or fan.stop is None:
            return frozenset()
        cancel_items(conn, run_id, Reason(fan.stop), fan.first)
        item_rows.recount(conn, run_id, fan.first, stopped=True)
        plan = engine.plans.get(conn, runs.load_run(conn, run_id).revision_id)
        closing = _go_on(conn, RunScope(engine, conn, plan, run_id), fan)
        freed = freed_queues(conn, plan)
    revoke_called(engine, plan, run_id)
    below = pass_down(engine, run_id) if plan.at(position).step.kind is StepKind.WORKFLOW else frozenset[str]()
    return follow_up(engine, run_id, closing) | below | freed


def _go_on(conn: Connection, scope: RunScope, fan: Fan) -> Advanced:
    """The step, which waits for its items, ends; of one that has ended they may be the last thing its run waits for."""
    if fan.finished:
        return close_run(conn, scope, advance)
    return Advanced(others=frozenset(transition.wake(conn, [fan.id])))
