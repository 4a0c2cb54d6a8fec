"""Step functions and a workflow that are traced, for a worker that loads this module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opentelemetry import trace

from orchestrator import function, workflow
from orchestrator.context import AttemptContext
from tests.integration.workers.steps import until

tracer = trace.get_tracer("shop")


@function(name="x.inner")
def inner() -> str:
    """Has a span of its own within the step's, which it adds to."""
    trace.get_current_span().set_attribute("shop.order", 7)
    with tracer.start_as_current_span("inner") as span:
        return f"{span.get_span_context().span_id:016x}"


@function(name="x.meet")
def meet(folder: str, name: str, other: str) -> None:
    """Ends once another one of it runs too."""
    Path(folder, f"met-{name}").touch()
    until(f"{folder}/met-{other}")


@function(name="x.flaky")
def flaky(ctx: AttemptContext) -> int:
    if ctx.attempt == 1:
        raise ValueError("not at first")
    return ctx.attempt


@workflow(name="coded")
def coded(ctx: Any, input: Any) -> Any:
    """Is replayed twice."""
    charged = ctx.step("charge", lambda: 5)
    called = ctx.call("x.inner", name="called")
    ctx.sleep(0.1)
    return {"charged": charged, "called": called}
