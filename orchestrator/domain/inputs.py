"""A run's input and output against the JSON Schemas of its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.json_schema.budget import TooCostly
from orchestrator.domain.json_schema.compiled import compiled
from orchestrator.errors import InvalidInput, Problem


def check_input(schema: Mapping[str, Any], value: Any) -> Any:
    """`value` with the schema's defaults filled in. Raises `InvalidInput` with all problems (`input.amount`).

    The value given is never changed; without defaults in the schema it is what is returned.

    `format` is checked for `date-time`, `date`, `uuid` and `email`; patterns may take one second each. Nothing is
    fetched. The schema is one that `parse` accepted.
    """
    return filled(schema, value, "input")


def filled(schema: Mapping[str, Any], value: Any, name: str) -> Any:
    """The same for a value that is called `name` in the paths of its problems."""
    ready = compiled(schema)
    try:
        made = ready.fill(value)
    except TooCostly as error:
        raise InvalidInput([Problem(name, str(error))]) from error
    problems = ready.problems(made, name)
    if problems:
        raise InvalidInput(problems)
    return made


def check_output(schema: Mapping[str, Any], value: Any) -> list[Problem]:
    """What the schema refuses about a run's output, by path (`output.total`); nothing is filled in."""
    return compiled(schema).problems(value, "output")


def check_payload(schema: Mapping[str, Any], value: Any) -> list[Problem]:
    """What the schema refuses about an event's payload, by path (`payload.amount`); nothing is filled in."""
    return compiled(schema).problems(value, "payload")
