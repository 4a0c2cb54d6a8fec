"""Run one claimed attempt in this process, a function of a code-first workflow among them."""

from __future__ import annotations

import logging
from contextlib import nullcontext

from orchestrator.context import AttemptLink
from orchestrator.domain.definition import StepKind
from orchestrator.replay.driver import drive
from orchestrator.services import perform as steps
from orchestrator.services.claim import Claimed
from orchestrator.services.engine import Engine
from orchestrator.services.perform import Guard, Performed


def perform(
    engine: Engine,
    claimed: Claimed,
    link: AttemptLink,
    log: logging.Logger,
    guard: Guard = lambda _: nullcontext(),
    *,
    ctrl_c: bool = True,
) -> Performed:
    """Perform the attempt; see `services/perform.py`."""
    if engine.plan(claimed.revision_id).at(claimed.position).step.kind is StepKind.CODE:
        return drive(engine, claimed, link, log, guard, ctrl_c=ctrl_c)
    return steps.perform(engine, claimed, link, log, guard, ctrl_c=ctrl_c)
