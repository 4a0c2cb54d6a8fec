"""Begin or go on with a step that waits for something, in one transaction."""

from __future__ import annotations

from orchestrator.domain.definition import Step, StepKind
from orchestrator.domain.items import is_item
from orchestrator.errors import ExpressionError, UnstorableValue
from orchestrator.services.blobs import unhurried
from orchestrator.services.claim import Claimed, refused, seconds
from orchestrator.services.engine import Engine
from orchestrator.services.kinds.child import child
from orchestrator.services.kinds.event import wait_for
from orchestrator.services.kinds.half import LOST, Half, Kind, Turn, next_half
from orchestrator.services.kinds.items import with_items
from orchestrator.services.kinds.sleep import sleep
from orchestrator.store import steps

KINDS: dict[StepKind, Kind] = {StepKind.SLEEP: sleep, StepKind.WAIT_FOR: wait_for, StepKind.WORKFLOW: child}


def kind_of(step: Step, position: int) -> Kind | None:
    """What goes on with the step, or an item of it, whose row has this position; None where a function is called."""
    if step.with_items is not None and not is_item(position):
        return with_items
    return KINDS.get(step.kind)


def go_on(engine: Engine, claimed: Claimed, kind: Kind) -> Turn:
    """What the attempt's next half comes to."""

    def do() -> Turn:
        with engine.db.transaction(lazy=True) as conn:
            return _turn(next_half(engine, conn, claimed), kind)

    try:
        turn = unhurried(do)
        return turn if turn.then is None else turn.then()
    except (ExpressionError, UnstorableValue) as error:
        return Turn(refused(engine, error).outcome)


def _turn(half: Half | None, kind: Kind) -> Turn:
    if half is None:
        return Turn(LOST)
    if half.wait is None:
        _arm(half)
    return kind(half)


def _arm(half: Half) -> None:
    """Set the deadlines of an attempt that begins."""
    render = half.scope.render
    timeout = seconds(render(half.step.timeout), "timeout")
    total = seconds(render(half.step.total_timeout), "total_timeout")
    if timeout is not None or total is not None:
        steps.arm_deadlines(half.conn, half.claimed.step_id, half.claimed.token, timeout, total)
