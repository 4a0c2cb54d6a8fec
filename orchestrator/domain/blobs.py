"""Values that lie in the blob store, and what stands in their place (docs/adr/0031).

A reference is a map with a key that no value of a user's may have (`domain/values.py` refuses it), so that it travels
wherever a value does: through lists of items, runs' outputs, copies made in SQL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

MARK = "$orchestrator.blob"
QUOTED = f'"{MARK}"'  # in the JSON text of whatever holds a reference
_decode = json.JSONDecoder().decode
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_PATH = re.compile(rf"\d{{4}}-\d\d-\d\d/({_UUID})/(?:{_UUID}|run)/[\w-]+\.json")
_SHOWN_KEYS = 20
_LONGEST_KEY = 40
_LAST_SECOND = 253_402_300_799  # of the year 9999


class Blob(dict[str, Any]):
    """A reference: where the value lies, its size in bytes, its SHA-256, and what it is in a few words."""

    @classmethod
    def of(cls, path: str, size: int, sha256: str, about: str) -> Blob:
        return cls({MARK: path, "bytes": size, "sha256": sha256, "about": about})

    @property
    def path(self) -> str:
        return str(self[MARK])

    @property
    def size(self) -> int:
        return int(self["bytes"])

    @property
    def sha256(self) -> str:
        return str(self["sha256"])


class HoldingMap(dict[str, Any]):
    """A map with references somewhere in it."""


class HoldingList(list[Any]):
    """A list with references somewhere in it."""


_HOLDING = frozenset({Blob, HoldingMap, HoldingList})


def holds(value: Any) -> bool:
    """Whether there are references in a value that `loads` gave: costs no look into it."""
    return type(value) in _HOLDING


def loads(text: str | bytes) -> Any:
    """The value of a JSON text of ours, the references in it as `Blob`."""
    if isinstance(text, bytes):
        text = text.decode()
    return _with_references(text) if QUOTED in text else _decode(text)


def _with_references(text: str) -> Any:
    value = json.loads(text, object_hook=_made)
    if type(value) is dict:
        return HoldingMap(value)
    return HoldingList(value) if type(value) is list else value


def _made(found: dict[str, Any]) -> dict[str, Any]:
    return Blob(found) if MARK in found else found


def replaced(value: Any, give: Callable[[Blob], Any]) -> Any:
    """A value of JSON depth with what `give` makes of each reference in it."""
    if type(value) is Blob:
        return give(value)
    if isinstance(value, Mapping):
        return {key: replaced(part, give) for key, part in value.items()}
    if isinstance(value, list):
        return [replaced(part, give) for part in value]
    return value


def references(value: Any) -> Iterator[Blob]:
    """Every reference in a value."""
    if type(value) is Blob:
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def folder_of(run_id: str) -> str:
    """The folder of a run's blobs, within that of the day of which its id tells."""
    seconds = min(int(run_id[:8] + run_id[9:13], 16) / 1000, _LAST_SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}/{run_id}"


def with_words(value: Any, more: str = "") -> Any:
    """A view's value with a few words in place of each reference; `more` says how the value is had."""
    return _with(value, lambda blob: _words(blob, more))


def by_content(value: Any) -> Any:
    """A view's value with references that are the same where what they stand for is."""
    return _with(value, lambda blob: {"blob": {key: part for key, part in blob.items() if key != MARK}})


def _with(value: Any, told: Callable[[Mapping[str, Any]], Any]) -> Any:
    if isinstance(value, Mapping):
        return told(value) if MARK in value else {key: _with(part, told) for key, part in value.items()}
    return [_with(part, told) for part in value] if isinstance(value, list) else value


def _words(blob: Mapping[str, Any], more: str) -> str:
    told = f"<{in_units(blob.get('bytes'))} in the blob store: {blob.get('about') or 'a value'}"
    return f"{told}; {blob['problem']}>" if "problem" in blob else f"{told}{more}>"


def in_units(size: Any) -> str:
    """`1.5 MiB`."""
    if not isinstance(size, int) or size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:,.1f} KiB" if size < 1 << 20 else f"{size / (1 << 20):,.1f} MiB"


def has_references(value: Any) -> bool:
    """Whether there are references in a value of a view, which may have been copied."""
    if isinstance(value, Mapping):
        return MARK in value or any(map(has_references, value.values()))
    return isinstance(value, list) and any(map(has_references, value))


def run_of(path: str) -> str | None:
    """The id of the run whose the blob at `path` is; None for what is no path of ours."""
    found = _PATH.fullmatch(path)
    return found.group(1) if found else None


def about(value: Any) -> str:
    """What a value is, without anything it says: it may be shown where secret fields are not."""
    if isinstance(value, Mapping):
        names = [f"{key} ({_kind(part)})" for key, part in value.items() if len(key) <= _LONGEST_KEY]
        more = len(value) - len(names[:_SHOWN_KEYS])
        return ", ".join(["a map of " + ", ".join(names[:_SHOWN_KEYS]), *([f"{more} more"] if more else [])])
    return _kind(value)


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    if isinstance(value, Mapping):
        return f"a map of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "null" if value is None else "true or false" if isinstance(value, bool) else "a number"
