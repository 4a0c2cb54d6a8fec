"""What follows from the end of one item: its step counts it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from orchestrator.domain.definition import WithItems
from orchestrator.domain.graph import PlanStep
from orchestrator.domain.items import most_failures
from orchestrator.domain.states import Reason, StepStatus
from orchestrator.services.advance import advance
from orchestrator.services.advanced import Advanced
from orchestrator.services.close import close_run
from orchestrator.services.scope import RunScope
from orchestrator.store import item_rows
from orchestrator.store.item_rows import Fan


@dataclass(frozen=True, slots=True)
class ItemEnd:
    """`stopping`: the step's other items are to be stopped (services/stop_items.py). `closing`: what came of the run's
    end, if this was it."""

    queues: frozenset[str]
    closing: Advanced = Advanced()
    stopping: bool = False


def end_item(conn: Connection, scope: RunScope, owner: PlanStep, fan: Fan, status: StepStatus) -> ItemEnd:
    """Count an item's end on its step's row, `fan`, which is locked. An item of a step that has ended may be the last
    thing its run waits for."""
    failed = status is StepStatus.FAILED
    asked = owner.step.with_items
    stopping = failed and asked is not None and _stops(asked, fan)
    if stopping:
        item_rows.note_stop(conn, scope.run_id, owner.position, Reason.FAIL_FAST)
    queues = item_rows.count_ended(conn, scope.run_id, owner.position, 1, int(failed))
    if not fan.finished:
        return ItemEnd(frozenset(queues), stopping=stopping)
    item_rows.recount(conn, scope.run_id, fan.first)
    return ItemEnd(frozenset(), close_run(conn, scope, advance))


def _stops(asked: WithItems, fan: Fan) -> bool:
    return asked.fail_fast and not fan.finished and fan.failed + 1 > most_failures(asked, fan.total or 0)
