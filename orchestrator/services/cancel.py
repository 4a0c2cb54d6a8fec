"""Cancel a run: nothing new of it starts; running steps come to their end, or with `force` are cut off."""

from __future__ import annotations

from orchestrator.services.cancel_one import cancel_one
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.pass_down import pass_down


def cancel(
    engine: Engine,
    run_id: str,
    *,
    reason: str | None = None,
    force: bool = False,
    actor: str = "cli",
    bulk_id: str | None = None,
) -> None:
    """Cancel; raises `NotFound`, or `Conflict` when the run is over or its end is already decided.

    Graceful: `ctx.canceled` turns true in running attempts, their results are kept, they are not tried again; runs it
    has started are canceled in the same way, and the run is `canceling` until they have ended. `force`: running
    attempts are fenced off and end `canceled` now, in all runs below too. A forced cancel may follow a graceful one,
    and also cuts off lifecycle handlers and compensations.
    """
    queues = cancel_one(engine, run_id, reason=reason, force=force, actor=actor, bulk_id=bulk_id)
    dispatch(engine, queues | pass_down(engine, run_id))
