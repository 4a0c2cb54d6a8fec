"""The step function of scripted cases, for real workers: what each attempt does is in the step's input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orchestrator import Skip, function


@function(name="case.attempt")
def attempt(ctx: Any, does: Sequence[str]) -> dict[str, str]:
    """Do what the script says of this attempt; its last word holds for all that follow."""
    what = does[min(ctx.attempt, len(does)) - 1]
    if what == "failed":
        raise RuntimeError("as the case says")
    if what == "skipped":
        raise Skip("as the case says")
    return {"step": ctx.step}
