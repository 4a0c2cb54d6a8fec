"""Read the fields of a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.limits import LIMITS
from orchestrator.domain.loading.json_text import NotJson, load_json
from orchestrator.errors import InvalidDefinition, InvalidInput, OrchestratorError, Problem


def json_field(given: Mapping[str, str], name: str, errors: dict[str, str], *, empty: Any = None) -> Any:
    """The JSON of a field; `empty` for an empty one. What is wrong with it is put into `errors`."""
    words = given.get(name, "").strip()
    if not words:
        return empty
    try:
        return load_json(words, LIMITS)
    except NotJson as error:
        errors[name] = f"This is not JSON: {_all(error.error)}"
    except InvalidDefinition as error:
        errors[name] = f"This JSON cannot be taken: {_all(error)}"
    return empty


def whole_number(words: str) -> int | None:
    """The number, of nine digits at most; None for what is none."""
    return int(words) if words.isascii() and words.isdecimal() and len(words) < 10 else None


def beside(error: OrchestratorError, fields: Mapping[str, str]) -> dict[str, str]:
    """What an act was refused for, by the field it is about: `fields` maps the first name of a path to a field."""
    if not isinstance(error, InvalidInput):
        return {"": str(error)}
    found: dict[str, list[str]] = {}
    for problem in error.problems:
        found.setdefault(_field(problem, fields), []).append(str(problem))
    return {name: "; ".join(told) for name, told in found.items()}


def _all(error: InvalidDefinition) -> str:
    return "; ".join(map(str, error.problems))


def _field(problem: Problem, fields: Mapping[str, str]) -> str:
    root = problem.path.replace("[", ".").split(".")[0]
    return fields.get(root, "")
