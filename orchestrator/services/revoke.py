"""Tell plain Celery workers which tasks nobody waits for any more, so that they do not begin with them."""

from __future__ import annotations

import logging

from orchestrator.domain.celery_task import is_celery_task
from orchestrator.domain.graph import Plan
from orchestrator.errors import Unreachable
from orchestrator.services.engine import Engine
from orchestrator.store import celery_calls

log = logging.getLogger(__name__)


def revoke_called(engine: Engine, plan: Plan, run_id: str) -> None:
    """Of a run that was stopped. One that has begun goes on, and its answer is dropped; what does not hear this is
    stopped by the end of its time at the latest."""
    calls = any(is_celery_task(step.step.function) for step in (*plan.steps, *plan.handlers.values()))
    if not calls and not plan.code:
        return
    with engine.db.transaction() as conn:
        called = celery_calls.find_canceled_calls(conn, run_id)
    try:
        if called:
            engine.transport.revoke(called)
    except Unreachable as error:
        log.warning("Celery tasks of run %s may still begin: %s", run_id, error, extra={"run_id": run_id})
