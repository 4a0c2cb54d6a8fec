"""Parts of values: `a.b`, `a['b']`, `a[0]`, `a[1:3]`. Only keys and elements are found, never Python attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.sandbox.meter import Meter
from orchestrator.domain.sandbox.missing import Missing, fail
from orchestrator.domain.sandbox.words import brief


class Group(list[Any]):
    """What `groupby` gives: the pair `[grouper, list]`, whose parts have these names too."""

    names = ("grouper", "list")


def part(value: Any, name: Any, path: str | None = None) -> Any:
    """The key or element `name` of `value` (written `path`), or a `Missing` that says what there is."""
    if type(value) is dict or isinstance(value, Mapping):
        try:
            return value[name]
        except KeyError:
            return Missing(None, value, name, path=path)
    if isinstance(value, list | tuple | str):
        return _element(value, name, path)
    if isinstance(value, Missing):
        fail(value)
    return Missing(None, value, name, path=path)


def _element(value: list[Any] | tuple[Any, ...] | str, name: Any, path: str | None) -> Any:
    if isinstance(name, int):
        try:
            return value[name]
        except IndexError:
            return Missing(None, value, name, path=path)
    if isinstance(value, Group) and name in Group.names:
        return value[Group.names.index(name)]
    return Missing(None, value, name, path=path)


def slice_of(meter: Meter, value: Any, bounds: slice) -> Any:
    """`value[start:stop:step]` of a list or a text."""
    if isinstance(value, Missing):
        fail(value)
    if not isinstance(value, list | tuple | str):
        raise TypeError(f"{brief(value)} cannot be sliced")
    meter.touch(value)
    return value[bounds]
