"""`python.echo`."""

from __future__ import annotations

from typing import Any

from orchestrator.functions import function


@function(name="python.echo")
def echo(**values: Any) -> dict[str, Any]:
    """Give back its input: to try a workflow out, or to make a value of templates."""
    return values
