"""What never changes about one step of one revision, worked out once a process: the hot path's memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any

from orchestrator.domain.celery_task import STEPS, is_celery_task
from orchestrator.domain.definition import EdgeOn, OnLost, Step, StepKind, TriggerRule
from orchestrator.domain.expressions import Template, compile_template
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.items import is_item
from orchestrator.domain.rules import Decision, Tally, decide, needed
from orchestrator.domain.values import storable
from orchestrator.errors import UnstorableValue
from orchestrator.functions import FunctionSpec, Registry
from orchestrator.services.memory import Memory
from orchestrator.store.batch import NewSteps, new_steps

DEFAULT_QUEUE = "default"
_OF_ITEMS = frozenset({"item", "index"})
_ASKS_FOR_SUCCESS = (EdgeOn.SUCCESS, EdgeOn.COMPLETE)


class Reads(Enum):
    """What an attempt needs of its run before its function can be called."""

    NOTHING = "nothing"
    ITEM = "item"  # what the item is
    INPUT = "input"  # that, and the run's input
    DATA = "data"  # that, variables, and how other steps stand
    RUN = "run"  # anything


@dataclass(frozen=True, slots=True)
class Site:
    """`step` with its function's own retry and timeout where it sets none; `spec` None: not registered here.

    `reads` RUN also stands for a timeout, whose end is to be written down. `positions` are those of the steps it reads.
    `input_json`: what the input is for every run, as JSON text; None when it reads something, or cannot be stored.
    `dependants`: (position, queue) of each, when its success is plain (`plain_dependants`); else None.
    `owner`: of items, the position of their step. `repeatable`: losing an attempt means no more than running it again.
    """

    step: Step
    spec: FunctionSpec | None
    reads: Reads
    positions: tuple[int, ...]
    input: Template
    input_json: str | None
    dependants: tuple[tuple[int, str], ...] | None
    repeatable: bool
    owner: int | None = None

    @property
    def last(self) -> bool:
        """Whether its plain success makes nothing else ready."""
        return self.dependants == () and self.owner is None


def make_site(plan: Plan, position: int, step: Step, functions: Registry, max_bytes: int) -> Site:
    """The site of a plan's step; `step` is the effective one, `max_bytes` bounds its input."""
    template = compile_template(step.input)
    reads = _reads(step, template)
    return Site(
        step=step,
        spec=functions.get(step.function or ""),
        reads=reads,
        positions=_positions(plan, template),
        input=template,
        input_json=_constant(step.input, max_bytes) if reads is Reads.NOTHING else None,
        dependants=_of_item(step) if is_item(position) else plain_dependants(plan, position, functions),
        repeatable=step.on_lost is OnLost.RETRY,
        owner=plan.at(position).position if is_item(position) else None,
    )


def _constant(value: Any, max_bytes: int) -> str | None:
    try:
        return storable({} if value is None else value, max_bytes=max_bytes)[1]
    except UnstorableValue:
        return None


def _reads(step: Step, template: Template) -> Reads:
    timed = step.timeout is not None or step.total_timeout is not None
    if step.kind is not StepKind.FUNCTION or step.cache is not None or timed:
        return Reads.RUN
    if template.constant:
        return Reads.NOTHING
    if "now" in json.dumps(step.input):  # `now()` is no root, and reads the database's clock
        return Reads.RUN
    roots = template.references.roots - _OF_ITEMS
    if not roots:
        return Reads.ITEM
    if roots <= {"input"}:
        return Reads.INPUT
    return Reads.DATA if roots <= {"input", "vars", "steps"} else Reads.RUN


def _positions(plan: Plan, template: Template) -> tuple[int, ...]:
    reads = template.references
    names = plan.positions.keys() if reads.all_steps else reads.steps & plan.positions.keys()
    return tuple(sorted(plan.positions[name] for name in names))


def _of_item(step: Step) -> tuple[tuple[int, str], ...] | None:
    """An item has no dependants; whether its success is plain."""
    return () if step.pool is None and step.cache is None else None


def plain_dependants(plan: Plan, position: int, functions: Registry) -> tuple[tuple[int, str], ...] | None:
    """The step's dependants with the queues they go to, if its success is plain: it needs no rule and no template.

    It publishes nothing, keeps no result, and takes no pool's slots, as none of its dependants does; every dependant is
    a function step without `when` that needs all its sources, asks for this success by an edge without `when`, and goes
    to a queue that is known. A step without dependants is plain when the run's end is: no handlers, `output`,
    `output_schema` or limit. None: it is not plain.
    """
    here = plan.at(position)
    if position >= len(plan.steps) or here.step.publish or here.step.pool or here.step.cache:
        return None
    if not here.dependants:
        return () if _ends_plainly(plan) else None
    found = []
    for dependant in map(plan.at, here.dependants):
        queue = _plain_queue(dependant.step, functions) if _starts_plainly(dependant, here.name) else None
        if queue is None:
            return None
        found.append((dependant.position, queue))
    return tuple(found)


def _ends_plainly(plan: Plan) -> bool:
    definition = plan.definition
    plain = not plan.handlers and not definition.has_output and definition.output_schema is None
    return plain and definition.max_active_runs is None


def _starts_plainly(dependant: PlanStep, source: str) -> bool:
    step = dependant.step
    return (
        step.kind is StepKind.FUNCTION
        and step.when is None
        and step.pool is None
        and step.trigger_rule in (None, TriggerRule.ALL_SUCCESS)
        and needed(step, len(dependant.sources)) == len(dependant.sources)
        and not dependant.conditional
        and any(edge.on in _ASKS_FOR_SUCCESS for _, edge in dependant.edges_from(source))
    )


def calls_celery(step: Step, functions: Registry) -> bool:
    """Whether the step calls a plain Celery task. A function registered under such a name is called instead of it,
    so that tests need no Celery."""
    return is_celery_task(step.function) and functions.get(step.function or "") is None


def _plain_queue(step: Step, functions: Registry) -> str | None:
    if calls_celery(step, functions):
        return STEPS
    if step.queue is not None:
        usable = isinstance(step.queue, str) and compile_template(step.queue).constant
        return step.queue if usable and len(step.queue.strip()) > 0 and len(step.queue) <= 255 else None
    spec = functions.get(step.function or "")
    return None if spec is None else spec.queue or DEFAULT_QUEUE


def plain_start(plan: Plan, functions: Registry) -> NewSteps | None:
    """The rows every run of the plan begins with, when its start is plain: no rule and no template decides it.

    It has no variables, no limit and no pools; every step without sources is a function step without `when` whose queue
    is no template; and no step with sources starts without waiting for one, as some trigger rules have it.
    """
    limited = plan.definition.max_active_runs is not None or any(here.step.pool for here in plan.steps)
    if plan.definition.vars or limited:
        return None
    rows = []
    for here in plan.steps:
        step, plain = here.step, _is_plain_root(here)
        if not plain and _starts_at_once(here):
            return None
        # A function this process does not know goes to the queue its workers have announced; the database knows it.
        queue = _plain_queue(step, functions) if plain else None
        if plain and queue is None and step.queue is not None:
            return None
        each = step.with_items is not None
        most = step.retry.max_attempts if step.retry and not each else None
        rows.append(
            (
                here.name,
                None if each else step.function,
                not here.dependants,
                queue,
                step.priority,
                len(here.sources),
                most,
            )
        )
    return new_steps(rows)


def _is_plain_root(here: PlanStep) -> bool:
    return not here.sources and here.step.kind is StepKind.FUNCTION and here.step.when is None


def _starts_at_once(here: PlanStep) -> bool:
    total = len(here.sources)
    return decide(here.step, Tally(total=total, remaining=total)) is not Decision.WAIT


class Sites:
    """A bounded cache."""

    def __init__(self) -> None:
        self._sites: Memory[str, dict[int, Site]] = Memory()
        self._starts: Memory[str, NewSteps | None] = Memory()

    def start_of(self, revision_id: str, plan: Plan, functions: Registry) -> NewSteps | None:
        """`plain_start` of a revision's plan, worked out once."""
        return self._starts.of(revision_id, lambda: plain_start(plan, functions))

    def of(self, revision_id: str) -> dict[int, Site]:
        """The sites of a revision worked out so far, to be read and added to."""
        return self._sites.of(revision_id, dict)
