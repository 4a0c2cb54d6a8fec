"""Slots of pools that a stop has given back are given out at once."""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan
from orchestrator.store import pools


def freed_queues(conn: Connection, plan: Plan) -> frozenset[str]:
    """The queues of the steps that are next in the pools whose slots steps of the plan take, to be dispatched."""
    names = {here.step.pool for here in (*plan.steps, *plan.afterwards) if here.step.pool is not None}
    return frozenset(queue for name in sorted(names) for queue in pools.next_queue(conn, name))
