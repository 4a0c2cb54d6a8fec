"""The names of events and decisions; apart from what is in them, which takes JSON Schemas to check."""

from __future__ import annotations

from typing import Any

APPROVAL = "approval:"
_OF_ITEM = "approval#"  # and the item's index: no step's approval has such a name
_MOST = 255


def is_name(value: Any) -> bool:
    """Whether an event can have this name."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        return False
    return len(without_item(value).removeprefix(APPROVAL)) <= _MOST


def is_decision(event: str) -> bool:
    """Whether the event is an approval's."""
    return event.startswith((APPROVAL, _OF_ITEM))


def approval_event(step: str, item: int | None = None) -> str:
    """The event that the approval of a step, or of one of its items (by index), waits for."""
    return APPROVAL + step if item is None else f"{_OF_ITEM}{item}:{step}"


def without_item(event: str) -> str:
    """The event as the definition knows it: that of an item's approval is its step's."""
    return APPROVAL + event.partition(":")[2] if event.startswith(_OF_ITEM) else event
