"""Whether a skip came before every failure among a step's sources, in whatever order attempts end.

Airflow skips an `all_success` step the moment a source is skipped, and fails it upstream the moment one fails. Where
the graph itself puts the skip first, the order cannot change that, and the step is skipped. Else the failure wins
(SPEC section 3, Advance).

What certainly came before a moment is worked out from the graph and from ends that are known at every order's time of
asking: a step that waited for all its sources has them all in its past; of one that may start at the first of
several, only what all of these have in common counts, whatever their ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from orchestrator.domain.definition import TriggerRule
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.rules import Effect, decisive, effect, waits_for_all
from orchestrator.domain.states import STEP_TERMINAL, Reason, StepStatus

_WITHOUT_ATTEMPT = frozenset(
    {Reason.CONDITION, Reason.CONDITION_ERROR, Reason.NOT_TRIGGERED, Reason.UPSTREAM, Reason.UNREACHABLE}
)
_MISSED = frozenset({Reason.NOT_TRIGGERED, Reason.UPSTREAM})


@dataclass(frozen=True, slots=True)
class PastEnd:
    """How a step ended; an open one may be given too and counts for nothing."""

    status: StepStatus
    reason: str | None = None

    @property
    def ran(self) -> bool:
        return self.status in STEP_TERMINAL and self.reason not in _WITHOUT_ATTEMPT


def ancestors(plan: Plan, step: PlanStep) -> list[int]:
    """Positions of all steps the step depends on, directly or not, ascending."""
    found: set[int] = set()
    front = list(step.sources)
    while front:
        position = front.pop()
        if position not in found:
            found.add(position)
            front.extend(plan.at(position).sources)
    return sorted(found)


def skip_came_first(plan: Plan, step: PlanStep, ends: Mapping[int, PastEnd]) -> bool:
    """Whether each failed source certainly ended after some skipped one; `ends` covers the step's `ancestors`."""
    effects = {source: effect_of(plan, step, source, ends) for source in step.sources}
    skips = [source for source, how in effects.items() if how is Effect.SKIPPED]
    past = _Past(plan, ends, ancestors(plan, step), skips)
    failures = {past.before[s] for s, how in effects.items() if how in (Effect.FAILED, Effect.UPSTREAM_FAILED)}
    return all(past.skipped_by(known) for known in failures)


def effect_of(plan: Plan, step: PlanStep, source: int, ends: Mapping[int, PastEnd]) -> Effect:
    """How an ended source counts for a step with a trigger rule."""
    return effect(step.step, plan.at(source).step, ends[source].status, {})


class _Past:
    """What certainly ended before what: sets of steps, as bits of the few that the skips hang on.

    `before` holds what has certainly ended before the moment a step ends, `upto` that and the step itself if its end
    is a moment of its own, `at_least` the same from the graph alone.
    """

    def __init__(self, plan: Plan, ends: Mapping[int, PastEnd], positions: Sequence[int], skips: Sequence[int]) -> None:
        self.plan, self.ends, self.skips = plan, ends, skips
        self.reasons = self._reasons_of_skips()
        moments = [position for position in self.reasons if self._ran(position)]
        self.bits = {position: 1 << rank for rank, position in enumerate(moments)}
        self.before: dict[int, int] = {}
        self.upto: dict[int, int] = {}
        self.at_least: dict[int, int] = {}
        for position in positions:
            step = plan.at(position)
            always = step.step.trigger_rule is TriggerRule.ALWAYS
            own = self.bits.get(position, 0)
            self.at_least[position] = own | _common(() if always else self._of(self.at_least, step))
            self.before[position], self.upto[position] = self._moments(step)

    def _reasons_of_skips(self) -> list[int]:
        """The skips, and the steps whose ends decided them, and theirs, down to such as ran; ascending."""
        found: set[int] = set()
        front = list(self.skips)
        while front:
            position = front.pop()
            if position not in found:
                found.add(position)
                front.extend(source for group in self._deciding(self.plan.at(position)) for source in group)
        return sorted(found)

    def skipped_by(self, known: int) -> bool:
        """Whether one of the skips has ended once the steps in `known` have."""
        ended: dict[int, bool] = {}
        for position in self.reasons:
            if self._ran(position):
                ended[position] = bool(known & self.bits[position])
            else:
                deciding = self._deciding(self.plan.at(position))
                ended[position] = any(all(ended[source] for source in group) for group in deciding)
        return any(ended[position] for position in self.skips)

    def _moments(self, step: PlanStep) -> tuple[int, int]:
        if self._ran(step.position):
            start = self._start(step)
            return start, start | self.bits.get(step.position, 0)
        deciding = self._deciding(step)
        before = _common(_union(self.before[source] for source in group) for group in deciding)
        return before, _common(_union(self.upto[source] for source in group) for group in deciding)

    def _start(self, step: PlanStep) -> int:
        if step.step.trigger_rule is TriggerRule.ALWAYS:
            return 0
        if len(step.sources) == 1 or waits_for_all(step.step, len(step.sources)):
            return _union(self._of(self.upto, step))
        return _common(self._of(self.at_least, step))

    def _deciding(self, step: PlanStep) -> list[list[int]]:
        """Groups of sources any of which, once ended, decides that the step does not run; none for one that ran."""
        rule, end = step.step.trigger_rule, self.ends.get(step.position)
        if rule is None or end is None or end.reason not in _MISSED:
            return []
        alone = [[s] for s in step.sources if effect_of(self.plan, step, s, self.ends) in decisive(rule)]
        return alone or [list(step.sources)]

    def _ran(self, position: int) -> bool:
        return position in self.ends and self.ends[position].ran

    def _of(self, sets: Mapping[int, int], step: PlanStep) -> Iterable[int]:
        return (sets[source] for source in step.sources)


def _union(sets: Iterable[int]) -> int:
    return reduce(or_, sets, 0)


def _common(sets: Iterable[int]) -> int:
    found = list(sets)
    return reduce(and_, found) if found else 0
