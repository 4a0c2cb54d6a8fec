"""Step functions that do what a test has written down for them, and remember in which order they ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.context import AttemptContext
from orchestrator.errors import Fail, RetryLater, Skip

FUNCTION = "case.step"


class Script:
    """What attempts 1, 2, ... of each step do: succeeded (also where nothing is written), failed (raises),
    fatal (raises Fail), skipped (raises Skip) or later (raises RetryLater).

    Register with `functions`; steps call `case.step`. `ran` lists the steps of all attempts in their order.
    """

    def __init__(self, outcomes: Mapping[str, Sequence[str]]) -> None:
        self.outcomes = outcomes
        self.ran: list[str] = []
        self._tries: Counter[str] = Counter()

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        return {FUNCTION: self.step}

    def step(self, ctx: AttemptContext) -> dict[str, Any]:
        self.ran.append(ctx.step)
        self._tries[ctx.step] += 1
        script = self.outcomes.get(ctx.step, ())
        attempt = self._tries[ctx.step]
        done = script[attempt - 1] if attempt <= len(script) else "succeeded"
        if done != "succeeded":
            raise _ERRORS[done](f"attempt {attempt} of {ctx.step} was to be {done}")
        return {"step": ctx.step, "attempt": attempt}


_ERRORS: dict[str, Callable[[str], Exception]] = {
    "failed": RuntimeError,
    "fatal": Fail,
    "skipped": Skip,
    "later": RetryLater,
}
