"""What checking one value may cost. References and patterns are what makes a small schema expensive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from orchestrator.domain.sandbox.meter import ITEM, Limits, Meter
from orchestrator.errors import ExpressionError

LIMITS = Limits(work=256 << 20, seconds=10.0)


class TooCostly(Exception):
    """The value cannot be checked within bounds; says why."""


_meter: ContextVar[Meter | None] = ContextVar("orchestrator_schema_meter", default=None)


@contextmanager
def budget() -> Iterator[None]:
    """The bounds hold for everything inside."""
    reset = _meter.set(Meter(LIMITS))
    try:
        yield
    except RecursionError as error:
        raise TooCostly("it is nested too deeply to be checked against the schema") from error
    finally:
        _meter.reset(reset)


def spend(items: int = 1) -> None:
    """Charge for some elements about to be looked at; raises `TooCostly`."""
    meter = _meter.get()
    if meter is None:
        return
    try:
        meter.spend(items * ITEM)
    except ExpressionError as error:
        raise TooCostly(f"checking it against the schema: {error}") from error
