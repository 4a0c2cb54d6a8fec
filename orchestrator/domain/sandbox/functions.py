"""The functions of the language: `now()`, `range()`, `dict()`, `fromjson()`, `tojson()`, `jmespath()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from orchestrator.domain.sandbox import rules
from orchestrator.domain.sandbox.jmes import jmespath
from orchestrator.domain.sandbox.meter import ITEM, MAX_RANGE
from orchestrator.domain.sandbox.missing import refuse_missing, similar
from orchestrator.domain.sandbox.rules import Evaluation
from orchestrator.domain.sandbox.words import arguments_told, kind
from orchestrator.errors import ExpressionError

NOW = "__now__"  # the scope key that holds what `now()` gives


def call_function(ev: Evaluation, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`name(*args, **kwargs)`; `name` is one of `FUNCTIONS`."""
    refuse_missing((*args, *kwargs.values()))
    try:
        return FUNCTIONS[name](ev, *args, **kwargs)
    except TypeError as error:
        raise arguments_told(f"the function '{name}'", error) from error


def unknown_function(name: str) -> str:
    """Say that there is no such function."""
    return f"there is no function '{name:.60}'; functions: {', '.join(sorted(FUNCTIONS))}{similar(name, FUNCTIONS)}"


def _now(ev: Evaluation) -> str:
    now = ev.scope.get(NOW)
    if now is None:
        raise ExpressionError("now() is not known here")
    return now.isoformat() if isinstance(now, datetime) else str(now)


def _range(ev: Evaluation, *bounds: Any) -> list[int]:
    if not all(isinstance(bound, int) for bound in bounds):
        raise TypeError("'range' takes whole numbers")
    numbers = range(*bounds)
    if any(abs(bound) >= 1 << 60 for bound in bounds):
        raise ExpressionError(f"a range may have at most {MAX_RANGE} elements and no numbers over 2^60")
    ev.meter.items(len(numbers))
    return list(numbers)


def _dict(ev: Evaluation, pairs: Any = (), /, **named: Any) -> dict[Any, Any]:
    if not isinstance(pairs, Mapping | list | tuple):
        raise TypeError(f"'dict' takes a map or a list of pairs, not {kind(pairs)}")
    ev.meter.spend(ITEM * (len(pairs) + len(named)))
    return dict(pairs, **named)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "dict": _dict,
    "fromjson": lambda ev, text: rules.from_json(ev.meter, text),
    "jmespath": lambda ev, value, query: jmespath(ev.meter, value, query),
    "now": _now,
    "range": _range,
    "tojson": rules.to_json,
}
