"""Begin or go on with a step that waits for something, in one transaction."""

from __future__ import annotations

from orchestrator.domain.definition import Step, StepKind
from orchestrator.domain.outcome import Outcome
from orchestrator.errors import ExpressionError
from orchestrator.services.claim import Claimed, NotPrepared, refused, seconds
from orchestrator.services.engine import Engine
from orchestrator.services.kinds.child import child
from orchestrator.services.kinds.event import wait_for
from orchestrator.services.kinds.half import Half, Kind, Turn
from orchestrator.services.kinds.sleep import sleep
from orchestrator.services.scope import RunScope
from orchestrator.store import steps

KINDS: dict[StepKind, Kind] = {StepKind.SLEEP: sleep, StepKind.WAIT_FOR: wait_for, StepKind.WORKFLOW: child}


def go_on(engine: Engine, claimed: Claimed, step: Step) -> Turn:
    """What the attempt's next half comes to."""
    try:
        with engine.db.transaction(lazy=True) as conn:
            return _turn(
                engine, claimed, step, RunScope(engine, conn, engine.plan(claimed.revision_id), claimed.run_id)
            )
    except ExpressionError as error:
        ended: NotPrepared = refused(engine, error)
        return Turn(ended.outcome)


def _turn(engine: Engine, claimed: Claimed, step: Step, scope: RunScope) -> Turn:
    row = steps.load_half(scope.conn, claimed.step_id, claimed.token)
    if row is None:
        return Turn(Outcome.lost("its claim no longer holds"))
    half = Half(engine, scope.conn, claimed, step, scope, row.wait, row.now, row.used_up)
    if row.wait is None:
        _arm(half)
    return KINDS[step.kind](half)


def _arm(half: Half) -> None:
    """Set the deadlines of an attempt that begins."""
    render = half.scope.render
    timeout, total = (
        seconds(render(half.step.timeout), "timeout"),
        seconds(render(half.step.total_timeout), "total_timeout"),
    )
    if timeout is not None or total is not None:
        steps.arm_deadlines(half.conn, half.claimed.step_id, half.claimed.token, timeout, total)
