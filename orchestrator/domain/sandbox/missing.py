"""A name or part of a value that is not there, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NoReturn

from jinja2 import StrictUndefined
from jinja2.exceptions import UndefinedError

from orchestrator.domain.near import nearest
from orchestrator.domain.sandbox.words import kind, quote

_SHOWN = 12  # names listed in a message
_SEARCHED = 1000  # names searched for a similar one


class Missing(StrictUndefined):
    """Jinja's undefined value: `is defined` and `default()` accept it, every other use raises `UndefinedError`.

    `path` is the text of the expression whose part is missing, when it has a short one.
    """

    __slots__ = ("_undefined_path",)

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = None,
        name: Any = None,
        exc: type[UndefinedError] = UndefinedError,
        path: str | None = None,
    ) -> None:
        super().__init__(hint, obj, name, exc)
        self._undefined_path = path

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint:
            return self._undefined_hint
        return absence(self._undefined_obj, self._undefined_name, self._undefined_path)


class MissingName(Missing):
    """A scope that is not there; `obj` is the mapping of those that are."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        name = str(self._undefined_name)
        scopes = [scope for scope in self._undefined_obj if not scope.startswith("_")]
        hint = " (nothing is written `none`)" if name == "null" else ""
        return f"{quote(name)} is not defined; {_there(scopes, name, 'names')}{hint}"


def absence(obj: Any, name: Any, path: str | None) -> str:
    """Say that `obj` (written `path`) has no part `name`, and what it has."""
    full = quote(joined(path, name))
    if isinstance(obj, Mapping):
        what = path if path in ("steps", "vars", "secrets") else "keys"
        return f"{full} is not defined; {_there(obj, name, what)}"
    owner = quote(path) if path else "the value"
    return f"{full} is not defined: {owner} is {kind(obj)}"


def joined(path: str | None, name: Any) -> str:
    """`path` with one more part, as an expression writes it."""
    plain = isinstance(name, str) and name.isidentifier()
    if path is None:
        return name if plain else f"[{name!r:.80}]"
    return f"{path}.{name}" if plain else f"{path}[{name!r:.80}]"


def _there(names: Iterable[Any], wanted: Any, what: str) -> str:
    known = list(islice((name for name in names if isinstance(name, str)), _SEARCHED + 1))
    if not known:
        return f"there are no {what} here"
    shown = ", ".join(f"{name:.60}" for name in sorted(known)[:_SHOWN])
    more = ", ..." if len(known) > _SHOWN else ""
    return f"{what} here: {shown}{more}{similar(wanted, known)}"


def similar(wanted: Any, known: Iterable[str]) -> str:
    """` (did you mean 'charge'?)`, or nothing."""
    near = nearest(str(wanted)[:100], known)
    return f" (did you mean {quote(near)}?)" if near is not None else ""


def refuse_missing(values: Iterable[Any]) -> None:
    """Raise `UndefinedError` if one of `values` is missing."""
    for value in values:
        if isinstance(value, Missing):
            fail(value)


def fail(missing: Missing) -> NoReturn:
    """Raise what using `missing` raises."""
    raise UndefinedError(missing._undefined_message)
