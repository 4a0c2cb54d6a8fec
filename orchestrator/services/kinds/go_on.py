"""Begin or go on with a step that waits for something, in one transaction."""

from __future__ import annotations

from orchestrator.domain.definition import Step, StepKind
from orchestrator.domain.items import is_item
from orchestrator.domain.outcome import Outcome
from orchestrator.errors import ExpressionError, UnstorableValue
from orchestrator.services.claim import Claimed, NotPrepared, item_scope, refused, seconds
from orchestrator.services.engine import Engine
from orchestrator.services.kinds.child import child
from orchestrator.services.kinds.event import wait_for
from orchestrator.services.kinds.half import Half, Kind, Turn
from orchestrator.services.kinds.items import with_items
from orchestrator.services.kinds.sleep import sleep
from orchestrator.services.scope import RunScope
from orchestrator.store import steps

KINDS: dict[StepKind, Kind] = {StepKind.SLEEP: sleep, StepKind.WAIT_FOR: wait_for, StepKind.WORKFLOW: child}


def kind_of(step: Step, position: int) -> Kind | None:
    """What goes on with the step, or an item of it, whose row has this position; None where a function is called."""
    if step.with_items is not None and not is_item(position):
        return with_items
    return KINDS.get(step.kind)


def go_on(engine: Engine, claimed: Claimed, kind: Kind) -> Turn:
    """What the attempt's next half comes to."""
    try:
        plan = engine.plan(claimed.revision_id)
        with engine.db.transaction(lazy=True) as conn:
            scope = RunScope(engine, conn, plan, claimed.run_id, also=item_scope(engine, claimed))
            turn = _turn(engine, claimed, kind, scope)
        return turn if turn.then is None else turn.then()
    except (ExpressionError, UnstorableValue) as error:
        ended: NotPrepared = refused(engine, error)
        return Turn(ended.outcome)


def _turn(engine: Engine, claimed: Claimed, kind: Kind, scope: RunScope) -> Turn:
    row = steps.load_half(scope.conn, claimed.step_id, claimed.token)
    if row is None:
        return Turn(Outcome.lost("its claim no longer holds"))
    step = engine.attempted(scope.plan, claimed.position)
    half = Half(engine, scope.conn, claimed, step, scope, row.wait, row.now, row.used_up)
    if row.wait is None:
        _arm(half)
    return kind(half)


def _arm(half: Half) -> None:
    """Set the deadlines of an attempt that begins."""
    render = half.scope.render
    timeout = seconds(render(half.step.timeout), "timeout")
    total = seconds(render(half.step.total_timeout), "total_timeout")
    if timeout is not None or total is not None:
        steps.arm_deadlines(half.conn, half.claimed.step_id, half.claimed.token, timeout, total)
