"""Whether a skip came before every failure, in whatever order attempts end; tests/conformance compares with Airflow."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from collections.abc import Sequence

import pytest

from orchestrator.domain.definition import Definition, Edge, Step, StepKind, TriggerRule
from orchestrator.domain.graph import make_plan
from orchestrator.domain.precedence import Past, PastEnd
from orchestrator.domain.states import Reason, StepStatus
from tests.memory import MemoryRun

S = StepStatus


def step(name: str, *sources: str, rule: TriggerRule = TriggerRule.ALL_DONE) -> Step:
    edges = tuple(map(Edge, sources))
    return Step(name, StepKind.FUNCTION, "f", depends_on=edges, trigger_rule=rule)


def last(*sources: str) -> Step:
    return step("last", *sources, rule=TriggerRule.ALL_SUCCESS)


def test_a_failure_behind_the_skip_comes_later() -> None:
    run = MemoryRun([step("skipped"), step("failed", "skipped"), last("skipped", "failed")])
    run.end("skipped", S.SKIPPED)
    run.end("failed", S.FAILED)
    assert run.statuses["last"] is S.SKIPPED


def test_a_failure_before_the_skip_wins() -> None:
    run = MemoryRun([step("failed"), step("skipped", "failed"), last("skipped", "failed")])
    run.end("failed", S.FAILED)
    run.end("skipped", S.SKIPPED)
    assert run.statuses["last"] is S.UPSTREAM_FAILED


@pytest.mark.parametrize("order", [("skipped", "failed"), ("failed", "skipped")])
def test_a_failure_beside_the_skip_wins_in_either_order(order: tuple[str, str]) -> None:
    run = MemoryRun([step("skipped"), step("failed"), last("skipped", "failed")])
    for name in order:
        run.end(name, S.SKIPPED if name == "skipped" else S.FAILED)
    assert run.statuses["last"] is S.UPSTREAM_FAILED


def test_every_failure_must_come_later() -> None:
    steps = [step("skipped"), step("behind", "skipped"), step("beside"), last("skipped", "behind", "beside")]
    run = MemoryRun(steps)
    for name, end in (("skipped", S.SKIPPED), ("behind", S.FAILED), ("beside", S.FAILED)):
        run.end(name, end)
    assert run.statuses["last"] is S.UPSTREAM_FAILED


def test_a_skip_by_rule_counts_from_the_end_that_decided_it() -> None:
    """`passed over` is skipped as `first` succeeds, which is before `failed` begins."""
    passed_over = step("passed over", "first", rule=TriggerRule.ALL_SKIPPED)
    run = MemoryRun([step("first"), passed_over, step("failed", "first"), last("passed over", "failed")])
    run.end("first", S.SUCCEEDED)
    run.end("failed", S.FAILED)
    assert run.statuses["last"] is S.SKIPPED


def test_a_step_that_may_start_at_the_first_of_several_hides_what_came_before_it() -> None:
    early = step("failed", "skipped", "other", rule=TriggerRule.ONE_SUCCESS)
    run = MemoryRun([step("skipped"), step("other"), early, last("skipped", "failed")])
    for name, end in (("skipped", S.SKIPPED), ("other", S.SUCCEEDED), ("failed", S.FAILED)):
        run.end(name, end)
    assert run.statuses["last"] is S.UPSTREAM_FAILED


def test_what_all_of_several_have_in_common_came_before_it_all_the_same() -> None:
    early = step("failed", "left", "right", rule=TriggerRule.ONE_SUCCESS)
    steps = [step("skipped"), step("left", "skipped"), step("right", "skipped"), early, last("skipped", "failed")]
    run = MemoryRun(steps)
    ends = {"skipped": S.SKIPPED, "left": S.SUCCEEDED, "failed": S.FAILED}
    for name, end in ends.items():
        run.end(name, end)
    assert run.statuses["right"] is S.READY, "still open when the last step is decided"
    assert run.statuses["last"] is S.SKIPPED


def test_a_past_of_ten_thousand_steps_is_looked_through() -> None:
    chain = [step("s0"), *(step(f"s{i}", f"s{i - 1}") for i in range(1, 10_000))]
    run = MemoryRun([*chain, last("s0", "s9999")])
    for i in range(9_999):
        run.end(f"s{i}", S.SKIPPED)
    tracemalloc.start()
    run.end("s9999", S.FAILED)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert run.statuses["last"] is S.SKIPPED
    assert most < 20_000_000


def test_ten_thousand_questions_look_at_each_step_once() -> None:
    """A hundred layers of a hundred steps: half of each are skipped by rule, the other half fail with them."""
    skipped, failed = TriggerRule.ALL_SKIPPED, TriggerRule.ALL_SUCCESS
    steps = [step(f"0.{i}") for i in range(100)]
    for layer in range(1, 100):
        for i in range(100):
            sources = [f"{layer - 1}.{(i + k) % 100}" for k in range(3)]
            steps.append(step(f"{layer}.{i}", *sources, rule=failed if i % 2 else skipped))
    plan = make_plan(Definition("w", tuple(steps)))
    roots = {p: PastEnd(S.SKIPPED if p % 2 else S.FAILED, "function" if p % 2 else None) for p in range(100)}
    loaded: Counter[int] = Counter()

    class Counted(Past):
        looked: Counter[int] = Counter()

        def _look_at(self, step: object) -> None:
            self.looked[step.position] += 1  # type: ignore[attr-defined]
            super()._look_at(step)  # type: ignore[arg-type]

    def load(positions: Sequence[int]) -> dict[int, PastEnd]:
        loaded.update(positions)
        return {position: roots[position] for position in positions}

    past = Counted(plan, load)
    for placed in plan.steps[100:]:
        if placed.step.trigger_rule is skipped:
            past.end(placed.position, PastEnd(S.SKIPPED, Reason.NOT_TRIGGERED))
        else:
            assert not past.skip_came_first(placed)
            past.end(placed.position, PastEnd(S.UPSTREAM_FAILED, Reason.UPSTREAM))
    assert loaded == Counter(range(100))
    assert set(past.looked.values()) == {1}


def test_a_cascade_reads_how_a_step_ended_once_whatever_follows() -> None:
    """Two hundred steps that hang on the same three each ask which of these came first, in one cascade."""
    asking = [step(f"asks{i}", "skipped", "behind", "end", rule=TriggerRule.ALL_SUCCESS) for i in range(200)]
    run = MemoryRun([step("skipped"), step("behind", "skipped"), step("end"), *asking])
    run.end("skipped", S.SKIPPED)
    run.end("behind", S.FAILED)
    run.end("end", S.SUCCEEDED)
    assert {run.statuses[one.name] for one in asking} == {S.SKIPPED}
    assert max(Counter(run.looked).values()) == 1


def test_many_questions_are_answered_as_each_would_be_alone() -> None:
    answers = [pair for seed in range(20) for pair in answers_of(random.Random(seed))]
    assert {alone for alone, _ in answers} == {True, False}
    assert [alone for alone, _ in answers] == [together for _, together in answers]


def answers_of(chance: random.Random) -> list[tuple[bool, bool]]:
    """For each step of a random graph that has ended: what is answered alone, and after all others before it."""
    names = [f"s{i:02}" for i in range(40)]
    steps = [
        step(name, *chance.sample(names[:i], min(i, chance.randint(0, 3))), rule=chance.choice([*TriggerRule]))
        for i, name in enumerate(names)
    ]
    run = MemoryRun(steps)
    while run.ready:
        run.end(chance.choice(run.ready), chance.choice([S.SUCCEEDED, S.FAILED, S.SKIPPED]))
    together = Past(run.plan, run.past_ends)
    return [
        (Past(run.plan, run.past_ends).skip_came_first(placed), together.skip_came_first(placed))
        for placed in run.plan.steps
        if run.tallies[placed.position][0].failures  # without a failure there is no question
    ]
