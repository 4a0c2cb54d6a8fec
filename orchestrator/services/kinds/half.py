"""One half of such a step: what it begins with, or what it goes on with once it was woken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.definition import Step
from orchestrator.domain.outcome import Outcome
from orchestrator.services.begun import attempted
from orchestrator.services.claim import Claimed, item_scope
from orchestrator.services.engine import Engine
from orchestrator.services.scope import RunScope
from orchestrator.store import steps

LOST = Outcome.lost("its claim no longer holds")


@dataclass(frozen=True, slots=True)
class Half:
    """An attempt in one worker's hands, within one transaction.

    `wait` is what it waited for: None in the first half. `now` is the database's clock; `timeout` is set, in seconds,
    when the attempt has used up its own.
    """

    engine: Engine
    conn: Connection
    claimed: Claimed
    step: Step
    scope: RunScope
    wait: Mapping[str, Any] | None
    now: datetime
    timeout: float | None = None


def next_half(engine: Engine, conn: Connection, claimed: Claimed) -> Half | None:
    """The half the attempt is in now; None when its claim no longer holds."""
    row = steps.load_half(conn, claimed.step_id, claimed.token)
    if row is None:
        return None
    plan = engine.plans.get(conn, claimed.revision_id)
    scope = RunScope(engine, conn, plan, claimed.run_id, also=item_scope(engine, claimed))
    step = attempted(engine, plan, claimed)
    scope.literal = step.literal
    return Half(engine, conn, claimed, step, scope, row.wait, row.now, row.used_up)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a half came to: the outcome, and the JSON text of the input it rendered, if there is any.

    `then`: what is to be done once the half's transaction is committed; its turn takes the place of this one.
    """

    outcome: Outcome
    input_json: str | None = None
    then: Callable[[], Turn] | None = None


# Each kind is one such function; it may raise `ExpressionError`, which ends the step.
Kind = Callable[[Half], Turn]
