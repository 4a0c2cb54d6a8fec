"""What a function asks of its context, held against the format of documents, which refuses it there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from marshmallow import ValidationError

from orchestrator.domain.checks.schemas import schema_problems
from orchestrator.domain.codes import retry_body
from orchestrator.domain.definition import OnLost, Retry
from orchestrator.domain.expressions import read_expression
from orchestrator.domain.format.fields import Choice, FunctionName, Name, Number, Part, Seconds, Text
from orchestrator.domain.format.schemas import MAX_SLOTS, RetrySchema
from orchestrator.domain.format.waits import EventName
from orchestrator.domain.sandbox.words import kind
from orchestrator.domain.shape import schema_problems as shape_problems
from orchestrator.errors import ExpressionError, WorkflowMisuse

_LONGEST_ID = 1000  # of a child: it is in an index
_OPTIONS: Mapping[str, Part] = {
    "function": FunctionName(""),
    "workflow": Name(""),
    "child_id": Text("", least=1, most=_LONGEST_ID),
    "event": EventName(""),
    "timeout": Seconds("", above=True),
    "total_timeout": Seconds("", above=True),
    "turn_timeout": Seconds("", above=True),
    "queue": Text("", least=1, most=255),
    "priority": Number("", most=9, whole=True),
    "pool": Name(""),
    "slots": Number("", least=1, most=MAX_SLOTS, whole=True),
    "on_lost": Choice("", OnLost),
    "concurrency": Number("", least=1, most=2**31 - 1, whole=True),
}
_NEEDED = frozenset({"function", "workflow", "event"})
_RETRY = RetrySchema()


def check_options(options: Mapping[str, Any]) -> None:
    """Raises `WorkflowMisuse` with the first that is wrong; None is as good as not given."""
    for name, value in options.items():
        part = _OPTIONS.get(name)
        if part is None or (value is None and name not in _NEEDED):
            continue
        try:
            part.check(value)
        except (ValidationError, ValueError, OverflowError) as error:  # the latter are for nan and inf
            told = error.messages[0] if isinstance(error, ValidationError) else f"must not be {value}"
            raise WorkflowMisuse(f"`{name}` {told}") from None


def checked_map(value: Any, what: str) -> dict[str, Any]:
    """A map, {} for None. Raises `WorkflowMisuse`."""
    if value is not None and not isinstance(value, Mapping):
        raise WorkflowMisuse(f"{what} must be a map, not {kind(value)}")
    return dict(value or {})


def checked_schema(schema: Any) -> dict[str, Any] | None:
    """A JSON Schema that can be used, None for none. Raises `WorkflowMisuse` with the first that is wrong in it."""
    if schema is None:
        return None
    given = checked_map(schema, "`schema`")
    try:
        problem = _schema_problem(json.dumps(given))
    except (TypeError, ValueError, RecursionError) as error:
        raise WorkflowMisuse(f"`schema` is no JSON: {error}") from None
    if problem is not None:
        raise WorkflowMisuse(problem)
    return given


@lru_cache(maxsize=256)
def _schema_problem(text: str) -> str | None:
    problems = schema_problems(json.loads(text), "schema")
    return f"`{problems[0].path}` {problems[0].message}" if problems else None


def check_retry(retry: Retry | None) -> None:
    """Raises `WorkflowMisuse` for a policy that is none."""
    try:
        problem = _retry_problem(retry)
    except TypeError:  # a list in it: it cannot be kept for the next time
        problem = _retry_problem.__wrapped__(retry)
    if problem is not None:
        raise WorkflowMisuse(problem)


@lru_cache(maxsize=256, typed=True)
def _retry_problem(retry: Retry | None) -> str | None:
    if retry is None:
        return None
    if not isinstance(retry, Retry):
        return f"`retry` must be a RetryPolicy, not {kind(retry)}"
    body = {key: list(value) if isinstance(value, tuple) else value for key, value in (retry_body(retry) or {}).items()}
    problems = shape_problems(_RETRY, body)
    if problems:
        return f"`retry.{problems[0].path}` {problems[0].message}"
    try:
        read_expression(retry.while_ or "true")
    except ExpressionError as error:
        return f"`retry.while` is no expression: {error}"
    return None
