"""Every tally of a run, counted afresh from the ends of its steps: what the kept counters must always equal."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.domain.cascade import counted
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.rules import Tally, effect
from orchestrator.domain.states import STEP_TERMINAL, StepStatus

Truth = Mapping[str, bool | str]


def recount(
    plan: Plan, statuses: Mapping[int, StepStatus], truths: Mapping[int, Truth]
) -> dict[int, tuple[Tally, dict[str, bool | str]]]:
    """Tally and edge truth by position for the steps in `statuses`; `truths` are conditions as once evaluated.

    The truth of an edge whose source is open (again) is dropped.
    """
    return {
        step.position: _count(plan, step, statuses, truths.get(step.position, {}))
        for step in plan.steps
        if step.position in statuses
    }


def _count(
    plan: Plan, step: PlanStep, statuses: Mapping[int, StepStatus], truth: Truth
) -> tuple[Tally, dict[str, bool | str]]:
    tally = Tally(total=len(step.sources), remaining=len(step.sources))
    kept: dict[str, bool | str] = {}
    for position in step.sources:
        status = statuses.get(position)
        if status not in STEP_TERMINAL:
            continue
        source = plan.at(position)
        edges = step.edges_from(source.name)
        known = {str(i): truth[str(i)] for i, _ in edges if str(i) in truth}
        kept |= known
        holds = {int(i): value is True for i, value in known.items()}
        errors = int(any(isinstance(value, str) for value in known.values()))
        tally = counted(tally, effect(step.step, edges, source.step, StepStatus(status), holds), errors)
    return tally, kept
