"""Whether a skip came before every failure among a step's sources, in whatever order attempts end.

Airflow skips an `all_success` step the moment a source is skipped, and fails it upstream the moment one fails. Where
the graph itself puts the skip first, the order cannot change that, and the step is skipped. Else the failure wins
(docs/adr/0006-not-running-waits-until-certain.md).

What certainly came before a moment is worked out from the graph and from ends that are known at every order's time of
asking: a step that waited for all its sources has them all in its past; of one that may start at the first of
several, only what all of these have in common counts, whatever their ends.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
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
_FAILURES = (Effect.FAILED, Effect.UPSTREAM_FAILED)


@dataclass(frozen=True, slots=True)
class PastEnd:
    """How a step ended; an open one may be given too and counts for nothing."""

    status: StepStatus
    reason: str | None = None

    @property
    def ran(self) -> bool:
        return self.status in STEP_TERMINAL and self.reason not in _WITHOUT_ATTEMPT

    @property
    def missed(self) -> bool:
        """The ends of its sources kept it from running."""
        return self.reason in _MISSED


Load = Callable[[Sequence[int]], Mapping[int, PastEnd]]
_OPEN = PastEnd(StepStatus.PENDING)


class Past:
    """What certainly ended before what: sets of steps, a bit for each by its position.

    It is asked as steps are decided, one after the other, and looks at every step above them once, however many are
    asked about. `load` tells how steps stand that ended before; `end` tells it of those that end meanwhile.
    """

    def __init__(self, plan: Plan, load: Load) -> None:
        self.plan, self.load = plan, load
        self.ends: dict[int, PastEnd] = {}
        self.before: dict[int, int] = {}  # what has ended before the moment a step ends
        self.upto: dict[int, int] = {}  # that, and the step if its end is a moment of its own
        self.at_least: dict[int, int] = {}  # the same from the graph alone
        self.told: dict[int, int | None] = {}  # see `_told_by`
        self.asked: tuple[int, dict[int, bool]] = (0, {})  # what has ended once these steps have

    def end(self, position: int, end: PastEnd) -> None:
        """The step has ended."""
        self.ends[position] = end
        if position in self.before:  # it was looked at while it was open
            self._look_at(self.plan.at(position))

    def skip_came_first(self, step: PlanStep) -> bool:
        """Whether each failed source of a step certainly ended after some skipped one; all of them have ended."""
        self._look_back(step)
        effects = {source: self._effect(step, source) for source in step.sources}
        skips = [source for source, how in effects.items() if how is Effect.SKIPPED]
        failures = {self.before[source] for source, how in effects.items() if how in _FAILURES}
        return all(any(self._has_ended(skip, known) for skip in skips) for known in failures)

    def _effect(self, step: PlanStep, source: int) -> Effect:
        there = self.plan.at(source)
        return effect(step.step, step.edges_from(there.name), there.step, self.ends[source].status, {})

    def _ran(self, position: int) -> bool:
        return self.ends.get(position, _OPEN).ran

    def _deciding(self, step: PlanStep) -> list[list[int]]:
        """Groups of sources any of which, once ended, decides that the step does not run; none for one that ran."""
        rule = step.step.trigger_rule
        if rule is None or not self.ends.get(step.position, _OPEN).missed:
            return []
        alone = [[source] for source in step.sources if self._effect(step, source) in decisive(rule)]
        return alone or [list(step.sources)]

    # Looking back.

    def _look_back(self, step: PlanStep) -> None:
        new = _above(self.plan, step, self.before)
        unknown = [position for position in new if position not in self.ends]
        if unknown:
            self.ends.update(self.load(unknown))
        for position in new:
            self._look_at(self.plan.at(position))

    def _look_at(self, step: PlanStep) -> None:
        here = step.position
        if self._ran(here):
            self.before[here] = self._start(step)
            self.upto[here] = self.before[here] | 1 << here
            return
        groups = self._deciding(step)
        self.before[here] = _common(_union(self.before[source] for source in group) for group in groups)
        self.upto[here] = _common(_union(self.upto[source] for source in group) for group in groups)
        self.told[here] = self._told_by(groups)

    def _start(self, step: PlanStep) -> int:
        if step.step.trigger_rule is TriggerRule.ALWAYS:
            return 0
        if len(step.sources) == 1 or waits_for_all(step.step, len(step.sources)):
            return _union(self.upto[source] for source in step.sources)
        self._look_at_least(step)
        return _common(self.at_least[source] for source in step.sources)

    def _look_at_least(self, step: PlanStep) -> None:
        for position in _above(self.plan, step, self.at_least):
            above = self.plan.at(position)
            always = above.step.trigger_rule is TriggerRule.ALWAYS
            known = 0 if always else _common(self.at_least[source] for source in above.sources)
            self.at_least[position] = known | 1 << position

    # Whether a step that did not run has ended, given steps that have.

    def _told_by(self, groups: list[list[int]]) -> int | None:
        """The steps any of which, once ended, decides that a step does not run; None where several do together."""
        told = [self._one_told(group[0]) if len(group) == 1 else None for group in groups]
        return None if None in told else _union(one for one in told if one is not None)

    def _one_told(self, position: int) -> int | None:
        return 1 << position if self._ran(position) else self.told[position]

    def _has_ended(self, position: int, known: int) -> bool:
        told = self._one_told(position)
        if told is not None:
            return bool(told & known)
        if self.asked[0] != known:
            self.asked = known, {}
        ended = self.asked[1]
        for reason in self._reasons(position, ended):
            ended[reason] = self._decided(reason, known, ended)
        return ended[position]

    def _decided(self, position: int, known: int, ended: Mapping[int, bool]) -> bool:
        told = self._one_told(position)
        if told is not None:
            return bool(told & known)
        return any(all(ended[source] for source in group) for group in self._deciding(self.plan.at(position)))

    def _reasons(self, position: int, known: Container[int]) -> list[int]:
        """The step, and those whose ends decided it, and theirs, as far as needed and not known; ascending."""
        found: set[int] = set()
        front = [position]
        while front:
            here = front.pop()
            if here not in found and here not in known:
                found.add(here)
                if self._one_told(here) is None:
                    front.extend(source for group in self._deciding(self.plan.at(here)) for source in group)
        return sorted(found)


def _above(plan: Plan, step: PlanStep, known: Container[int]) -> list[int]:
    """Positions of all steps the step depends on, directly or not, down to known ones; ascending."""
    found: set[int] = set()
    front = list(step.sources)
    while front:
        position = front.pop()
        if position not in found and position not in known:
            found.add(position)
            front.extend(plan.at(position).sources)
    return sorted(found)


def _union(sets: Iterable[int]) -> int:
    found = list(sets)
    return reduce(or_, found) if found else 0  # one set alone is no copy of it


def _common(sets: Iterable[int]) -> int:
    found = list(sets)
    return reduce(and_, found) if found else 0
