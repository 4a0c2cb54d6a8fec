"""What is said about a value of the wrong shape."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError

from orchestrator.domain.sandbox.words import kind

REQUIRED = "is required"
NULL = "must not be null"
NOT_A_MAP = "must be a map"
QUOTES = "put it in quotes"


class Message(str):
    """A message that carries a hint through marshmallow."""

    __slots__ = ("hint",)
    hint: str | None

    def __new__(cls, text: str, hint: str | None = None) -> Message:
        made = super().__new__(cls, text)
        made.hint = hint
        return made


def wrong(text: str, hint: str | None = None) -> ValidationError:
    """The error for a value."""
    return ValidationError([Message(text, hint)])


def not_a(expected: str, value: Any, hint: str | None = None) -> ValidationError:
    """The error for a value of another kind: `must be text, not a number`."""
    return wrong(f"must be {expected}, not {kind(value)}", hint)


def unavailable(key: str) -> str:
    """What is said about parts of the format that this release does not run."""
    return f"'{key}' is part of the format but is not available in this release"
