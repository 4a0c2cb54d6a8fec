"""A step with `with_items`: where its items have their place, what they are made of, and how many of them may fail.

An item is an attempted row like a step. Its position says whose it is: each step with items of a plan has a span of
positions, above those of all steps, so that a step's position is always lower than those of its items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from orchestrator.domain.definition import OnLost, Step, WithItems
from orchestrator.domain.sandbox.words import kind
from orchestrator.errors import ExpressionError

FIRST_ITEM = 1 << 20  # the lowest position of an item; above those of steps and handlers
SPAN = 1 << 20  # how many items a step may have
MOST_FANS = (1 << 31) // SPAN - 1  # steps with items in a workflow: positions are 4 bytes long
_SHARE = 100


def is_item(position: int) -> bool:
    """Whether the row at a position is an item."""
    return position >= FIRST_ITEM


def first_item(fan: int) -> int:
    """The position of the first item of a plan's `fan`-th step with items (from 0)."""
    return FIRST_ITEM + fan * SPAN


def fan_of(position: int) -> int:
    """Which of a plan's steps with items an item's position belongs to."""
    return position // SPAN - 1


def index_of(position: int) -> int:
    """An item's place among those of its step, from 0."""
    return position % SPAN


def expand(value: Any, batch_size: int | None) -> Sequence[Any]:
    """The items of a list or of a map (`{key, value}`), in batches if asked for; raises `ExpressionError`."""
    if isinstance(value, dict):
        value = [{"key": key, "value": part} for key, part in value.items()]
    if not isinstance(value, list):
        raise ExpressionError(f"`with_items` must become a list or a map, not {kind(value)}")
    items = value if batch_size is None else [value[i : i + batch_size] for i in range(0, len(value), batch_size)]
    if len(items) > SPAN:
        raise ExpressionError(f"`with_items` gives {len(items)} items; the limit is {SPAN}")
    return items


def most_failures(asked: WithItems, total: int) -> int:
    """How many of `total` items may fail before the step does."""
    if isinstance(asked.max_failures, int):
        return asked.max_failures
    return int(total * Fraction(asked.max_failures.removesuffix("%")) / _SHARE)


def fan_step(step: Step) -> Step:
    """The step as it expands and collects its items: nothing of it is the function's. `total_timeout` holds for all."""
    bare = replace(step, function=None, input=None, retry=None, timeout=None, on_lost=OnLost.RETRY)
    return replace(bare, cache=None, pool=None, slots=1)


def item_step(step: Step) -> Step:
    """The step as each of its items is attempted."""
    return replace(step, total_timeout=None, publish={}, publish_on_failure={})
