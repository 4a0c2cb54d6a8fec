"""A graph as an indented tree: branches below the step they fork from, a join after all the branches it joins."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from orchestrator.domain.graph import Plan

_ROOT = -1


class Guide(IntEnum):
    """A piece of the lines left of a name; an index into `Signs.branch`."""

    BRANCH = 0
    LAST = 1
    PASS = 2
    BLANK = 3


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A step's line. A chain of steps stays at one indent."""

    position: int
    guides: tuple[Guide, ...]


def tree(plan: Plan) -> list[TreeLine]:
    """The lines of the plan's steps, handlers left out. For graphs that fit a screen: it recurses by depth."""
    lines: list[TreeLine] = []
    _region(plan, _children(plan), _ROOT, (), lines)
    return lines


def _region(
    plan: Plan, children: dict[int, list[int]], above: int, guides: tuple[Guide, ...], lines: list[TreeLine]
) -> None:
    """All steps that can only be reached through `above`."""
    branches = [child for child in children[above] if len(plan.at(child).sources) <= 1]
    forks = len(branches) > 1
    for branch in branches:
        last = branch == branches[-1]
        mine = (Guide.LAST if last else Guide.BRANCH,) if forks else ()
        below = (Guide.BLANK if last else Guide.PASS,) if forks else ()
        lines.append(TreeLine(branch, guides + mine))
        _region(plan, children, branch, guides + below, lines)
    for join in children[above]:
        if join not in branches:
            lines.append(TreeLine(join, guides))
            _region(plan, children, join, guides, lines)


def _children(plan: Plan) -> dict[int, list[int]]:
    """Steps by their immediate dominator: the last step all ways from the roots to them go through."""
    above: dict[int, int] = {_ROOT: _ROOT}
    depth: dict[int, int] = {_ROOT: -1}
    children: dict[int, list[int]] = {_ROOT: []}
    for step in plan.steps:
        dominator = step.sources[0] if step.sources else _ROOT
        for source in step.sources[1:]:
            dominator = _meet(above, depth, dominator, source)
        above[step.position], depth[step.position] = dominator, depth[dominator] + 1
        children[step.position] = []
        children[dominator].append(step.position)
    return children


def _meet(above: dict[int, int], depth: dict[int, int], one: int, other: int) -> int:
    while one != other:
        if depth[one] >= depth[other]:
            one = above[one]
        else:
            other = above[other]
    return one
