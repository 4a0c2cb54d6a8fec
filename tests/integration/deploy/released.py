"""A function that only the new release has."""

from __future__ import annotations

from orchestrator import function


@function(name="t.new")
def new() -> str:
    return "of the new release"
