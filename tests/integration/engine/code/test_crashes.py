"""A worker may die at every point: what is journaled is not done again, and what is not is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from orchestrator.domain.outcome import Outcome
from orchestrator.errors import Unreachable
from orchestrator.replay.journal import Entry, Yielded
from orchestrator.replay.stored import StoredJournal
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed
from orchestrator.store.db import Database
from tests.coding import Coders


@pytest.fixture
def coders(module_db: Database) -> Coders:
    return Coders(module_db, {"double": lambda n: 2 * n})


class Effects:
    """A function that does something in each of its steps, and counts how often."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()

    def __call__(self, ctx: Any, input: Any) -> Any:
        first = ctx.step("first", self._do, "first")
        started = ctx.start_call("double", {"n": 1})
        second = ctx.step("second", self._do, "second")
        begun = ctx.now()
        third = ctx.call("double", {"n": 2})
        last = ctx.step("last", self._do, "last")
        return [first, second, third, last, *ctx.gather(started), begun <= ctx.now()]

    def _do(self, name: str) -> str:
        self.done[name] += 1
        return name


RIGHT = ["first", "second", 4, "last", 2, True]


class Crashing:
    """Stops the function before or after its n-th write to the journal, as a worker's death does."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, at: int, *, after: bool, how: Callable[[], BaseException]
    ) -> None:
        self.writes, self.at, self.after, self.how = 0, at, after, how
        self._append = StoredJournal.append
        monkeypatch.setattr(StoredJournal, "append", lambda journal, entries: self(journal, entries))

    def __call__(self, journal: StoredJournal, entries: Sequence[Entry]) -> Sequence[Entry]:
        self.writes += 1
        if self.writes != self.at:
            return self._append(journal, entries)
        if self.after:
            self._append(journal, entries)
        raise self.how()


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_write_repeats_the_unjournaled_tail_alone(
    coders: Coders, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    writes = 0
    while True:
        writes, effects = writes + 1, Effects()
        with monkeypatch.context() as patched:
            crashing = Crashing(patched, writes, after=after, how=lambda: Yielded("died"))
            run = coders.finish(coders.begin(effects))
        assert (run["status"], run["output"]) == ("succeeded", RIGHT)
        assert sum(effects.done.values()) <= (3 if after else 4)
        if crashing.writes < writes:
            break
    assert writes == 6  # five of them, and none at which it did not crash
    assert coders.steps(run["id"])["driver"]["attempts"] == 1


def test_a_crash_at_the_end_of_any_turn_repeats_nothing_that_is_journaled(coders: Coders) -> None:
    for lost in range(5):
        effects, turns = Effects(), 0
        run_id = coders.begin(effects)
        while coders.run(run_id)["status"] == "running":
            for claimed in coders.claim():
                done = coders.perform(claimed)
                if claimed.position == 0:
                    turns += 1
                coders.settle(
                    claimed, Outcome.lost("died") if claimed.position == 0 and turns == lost + 1 else done.outcome
                )
        assert coders.run(run_id)["output"] == RIGHT
        assert set(effects.done.values()) == {1}


def test_a_database_that_is_away_is_nobodys_failure(coders: Coders, monkeypatch: pytest.MonkeyPatch) -> None:
    effects = Effects()
    run_id = coders.begin(effects)
    (claimed,) = coders.claim()
    with monkeypatch.context() as patched:
        Crashing(patched, 1, after=False, how=lambda: Unreachable("away"))
        with pytest.raises(Unreachable):
            coders.perform(claimed)
    coders.settle(claimed)
    assert coders.finish(run_id)["output"] == RIGHT
    assert effects.done["first"] == 2


def test_of_two_drivers_one_goes_on_and_both_see_the_stored_value(coders: Coders) -> None:
    seen: list[Any] = []
    held: list[Claimed] = []

    def slow() -> str:
        if len(held) == 1:  # the first driver's lease runs out while it is here, and another one takes over
            coders.settle(held[0], Outcome.lost("silent"))
            (second,) = coders.claim()
            held.append(second)
            coders.settle(second)
            return "of the first driver"
        return "of the second driver"

    def work(ctx: Any, input: Any) -> Any:
        seen.append(ctx.step("slow", slow))
        return [seen[-1], ctx.call("double", {"n": 1})]

    run_id = coders.begin(work)
    held.extend(coders.claim())
    assert coders.settle(held[0]).stale
    assert coders.finish(run_id)["output"] == ["of the second driver", 2]
    assert set(seen) == {"of the second driver"}
    assert [key for _, _, key, _ in coders.journal(run_id)] == ["slow", "double", "double"]


def test_a_late_driver_cannot_revive_a_run_that_has_ended(coders: Coders) -> None:
    def work(ctx: Any, input: Any) -> Any:
        cancel(coders.engine, ctx.run_id, force=True)
        ctx.step("late", lambda: 1)
        ctx.call("double", {"n": 1})

    run_id = coders.begin(work)
    (claimed,) = coders.claim()
    assert coders.settle(claimed).stale
    assert coders.status(run_id) == "canceled"
    assert coders.journal(run_id) == []
    assert coders.statuses(run_id) == {"driver": "canceled"}
