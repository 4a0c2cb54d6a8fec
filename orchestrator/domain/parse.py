"""A workflow document to a `Definition`: shape, parts, and what must hold between them, all problems at once."""

from __future__ import annotations

import re
from typing import Any

from orchestrator.domain.build import build
from orchestrator.domain.definition import Definition
from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.domain.plain import plain_problems
from orchestrator.domain.sandbox.words import kind
from orchestrator.domain.shape import Shape, check_shape
from orchestrator.domain.validate import validate
from orchestrator.errors import InvalidDefinition, Problem

_EDGES = re.compile(r"steps(\[\d+\](\.depends_on.*)?)?")
_STEP = re.compile(r"steps\[(\d+)\]")


def parse(document: Any, *, limits: Limits = LIMITS) -> Definition:
    """The definition in a document given as plain data. Raises `InvalidDefinition` with all its problems.

    The problems of shape and those between the parts come together; what cannot be told because of another problem is
    left out. Problems past `limits.problems` are counted only.
    """
    problems = plain_problems(document, limits)
    if problems:
        raise InvalidDefinition(problems)
    return _parse(document, limits)


def _parse(document: Any, limits: Limits) -> Definition:
    if not isinstance(document, dict):
        raise InvalidDefinition(
            [Problem("", f"this is not a workflow document: it must be a map, not {kind(document)}")]
        )
    steps = document.get("steps")
    if isinstance(steps, list) and len(steps) > limits.steps:
        raise InvalidDefinition([Problem("steps", f"has {len(steps)} steps; the limit is {limits.steps}")])
    shape = check_shape(document)
    definition = build(shape.right)
    problems = shape.problems + validate(definition, shape.right, limits=limits, edges_known=_edges_known(shape))
    if problems:
        raise InvalidDefinition(_ordered(problems, limits))
    return definition


def _edges_known(shape: Shape) -> bool:
    return not any(_EDGES.fullmatch(problem.path) for problem in shape.problems)


def _ordered(problems: list[Problem], limits: Limits) -> list[Problem]:
    """Those of the document first, then step by step; no more than the limit, and how many more there are."""
    placed = sorted(problems, key=lambda problem: _step_of(problem.path))
    more = len(placed) - limits.problems
    return placed if more <= 0 else [*placed[: limits.problems], Problem("", f"and at least {more} more problems")]


def _step_of(path: str) -> int:
    found = _STEP.match(path)
    return int(found.group(1)) if found else -1
