"""What is said about a value of the wrong shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from marshmallow import ValidationError

from orchestrator.domain.sandbox.words import kind

REQUIRED = "is required"
NULL = "must not be null"
NOT_A_MAP = "must be a map"
QUOTES = "put it in quotes"


# A hint, or what finds one: looking for near names takes long, and most of many problems are never shown.
Hint = str | None | Callable[[], str | None]


class Message(str):
    """A message that carries a hint through marshmallow."""

    _hint: Hint

    def __new__(cls, text: str, hint: Hint = None) -> Message:
        made = super().__new__(cls, text)
        made._hint = hint
        return made

    def hint(self) -> str | None:
        """What to do about it."""
        return self._hint() if callable(self._hint) else self._hint


def wrong(text: str, hint: Hint = None) -> ValidationError:
    """The error for a value."""
    return ValidationError([Message(text, hint)])


def not_a(expected: str, value: Any, hint: Hint = None) -> ValidationError:
    """The error for a value of another kind: `must be text, not a number`."""
    return wrong(f"must be {expected}, not {kind(value)}", hint)
