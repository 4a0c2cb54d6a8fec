"""What is different between two definitions: place by place, and as lines of YAML."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

_GONE = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place; `kind` is `added`, `removed` or `changed`. What is not there is None."""

    path: str
    kind: str
    before: Any
    after: Any


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """The places in which two documents differ, in the order of the first.

    Lists of maps that all have a `name`, as steps do, are compared by name; other lists place by place.
    """
    if _same(before, after):
        return
    parts = _parts(before), _parts(after)
    if parts[0] is None or parts[1] is None or type(before) is not type(after):
        yield _difference(path, before, after)
        return
    for key in dict.fromkeys([*parts[0], *parts[1]]):
        inner = parts[0].get(key, _GONE), parts[1].get(key, _GONE)
        yield from differences(*inner, f"{path}.{key}" if path else str(key))


def difference_text(before: Any, after: Any) -> str:
    """The lines of YAML that were removed and added, with some around them, as `diff -u` shows them."""
    return "\n".join(list(difflib.unified_diff(_lines(before), _lines(after), lineterm=""))[2:])


def as_yaml(document: Any) -> str:
    """The document as a person would write it; `load_text` reads the same from it."""
    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110))


def _lines(document: Any) -> list[str]:
    return as_yaml(document).splitlines()


def _same(before: Any, after: Any) -> bool:
    """Equal as JSON is: `1`, `1.0` and `true` are not the same."""
    return type(before) is type(after) and before == after and repr(before) == repr(after)


def _parts(value: Any) -> Mapping[Any, Any] | None:
    """What is in a map or a list by its key; None for anything else."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return None
    names = [each.get("name") if isinstance(each, dict) else None for each in value]
    if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
        return dict(zip(names, value, strict=True))
    return dict(enumerate(value))


def _difference(path: str, before: Any, after: Any) -> Difference:
    if before is _GONE:
        return Difference(path, "added", None, after)
    if after is _GONE:
        return Difference(path, "removed", before, None)
    return Difference(path, "changed", before, after)
