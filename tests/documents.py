"""Short ways to write documents and functions for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Document = dict[str, Any]


def step(name: str, *sources: str, **keys: Any) -> dict[str, Any]:
    """A step that calls `ok` unless it says otherwise; `sources` are plain edges."""
    made: dict[str, Any] = {"name": name, "function": "ok"} if "pass" not in keys else {"name": name}
    return made | ({"depends_on": list(sources)} if sources else {}) | keys


def on(source: str, end: str, when: str | None = None) -> dict[str, str]:
    """An edge on an end of its source."""
    return {"step": source, "on": end} | ({} if when is None else {"when": when})


def document(*steps: dict[str, Any], **keys: Any) -> Document:
    return {"name": "w", "steps": list(steps), **keys}


def ok(**given: Any) -> dict[str, Any]:
    """Returns what it is given."""
    return given


def fail(message: str = "no luck") -> None:
    """Raises `RuntimeError`."""
    raise RuntimeError(message)


FUNCTIONS: dict[str, Callable[..., Any]] = {"ok": ok, "fail": fail}
