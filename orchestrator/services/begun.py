"""Steps that the function of a code-first workflow has begun: each row says itself what it is to do (docs/adr/0023)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from orchestrator.domain.build import step_of
from orchestrator.domain.definition import OnLost, Step, StepKind
from orchestrator.domain.expressions import compile_template
from orchestrator.domain.graph import Plan
from orchestrator.services.engine import Engine
from orchestrator.services.sites import Reads, Site, calls_celery
from orchestrator.store import batch

_NOTHING = compile_template(None)


class Taken(Protocol):
    """A claimed row."""

    @property
    def step_id(self) -> str: ...
    @property
    def revision_id(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def item(self) -> str | None: ...


def attempted(engine: Engine, plan: Plan, taken: Taken) -> Step:
    """The step as the row attempts it."""
    if not plan.is_begun(taken.position):
        return engine.attempted(plan, taken.position)
    body = taken.item if taken.item is not None else batch.item_of(engine.db, taken.step_id)
    return begun_step(engine, json.loads(body) or {"name": "?"})


def begun_step(engine: Engine, body: Mapping[str, Any]) -> Step:
    """The step that a row says; nothing of it is a template."""
    return engine.effective(replace(step_of(body), literal=True))


def site_of(engine: Engine, taken: Taken) -> Site | None:
    """What is known of the step of a plan in memory; None when that is not, or the row's own words are not at hand."""
    plan = engine.plans.at_hand(taken.revision_id)
    if plan is None or not plan.is_begun(taken.position):
        return engine.site(taken.revision_id, taken.position)
    return None if taken.item is None else _site(engine, json.loads(taken.item))


def _site(engine: Engine, body: Mapping[str, Any]) -> Site:
    step = begun_step(engine, body)
    timed = step.timeout is not None or step.total_timeout is not None
    plain = step.kind is StepKind.FUNCTION and not timed and not calls_celery(step, engine.functions)
    return Site(
        step=step,
        spec=engine.functions.get(step.function or ""),
        reads=Reads.NOTHING if plain else Reads.RUN,
        positions=(),
        input=_NOTHING,
        input_json=json.dumps(step.input, ensure_ascii=False, separators=(",", ":")) if plain else None,
        dependants=() if step.pool is None else None,
        repeatable=step.on_lost is OnLost.RETRY,
        owner=0,
    )
