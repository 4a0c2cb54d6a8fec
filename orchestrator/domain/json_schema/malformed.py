"""Whether a schema is written as JSON Schema 2020-12 has it: every keyword with a value of its kind.

The same as the official metaschema says, at a hundredth of the cost and with messages for people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from orchestrator.domain.json_schema.messages import TYPES
from orchestrator.domain.json_schema.references import LISTED, NAMED, Keys, everything
from orchestrator.domain.sandbox.words import kind

# A check gives what the value must be when it is not.
Check = Callable[[Any], str | None]

_NAME = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_ID = re.compile(r"[^#]*#?")


def malformed(schema: Any) -> Iterator[tuple[Keys, str]]:
    """Where the schema is not well formed, and how."""
    for keys, part in everything(schema):
        if isinstance(part, dict):
            for keyword, value in part.items():
                yield from _keyword(keys, keyword, value)
        elif not isinstance(part, bool):
            yield keys, f"must be a schema (a map, or true or false), not {kind(part)}"


def _keyword(keys: Keys, keyword: str, value: Any) -> Iterator[tuple[Keys, str]]:
    check = _CHECKS.get(keyword)
    wanted = check(value) if check else None
    if wanted is not None:
        yield (*keys, keyword), f"must be {wanted}, not {kind(value)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> str | None:
    return None if _is_number(value) else "a number"


def _positive(value: Any) -> str | None:
    return None if _is_number(value) and value > 0 else "a number above 0"


def _count(value: Any) -> str | None:
    return None if _is_number(value) and value >= 0 and value == int(value) else "a whole number, 0 or more"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else "text"


def _matching(pattern: re.Pattern[str], wanted: str) -> Check:
    return lambda value: None if isinstance(value, str) and pattern.fullmatch(value) else wanted


def _boolean(value: Any) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _list(value: Any) -> str | None:
    return None if isinstance(value, list) else "a list"


def _map(value: Any) -> str | None:
    return None if isinstance(value, dict) else "a map"


def _schemas(value: Any) -> str | None:
    return None if isinstance(value, list) and value else "a list of one or more schemas"


def _names(value: Any) -> str | None:
    fits = isinstance(value, list) and all(isinstance(name, str) for name in value) and len(set(value)) == len(value)
    return None if fits else "a list of different names"


def _lists_of_names(value: Any) -> str | None:
    fits = isinstance(value, dict) and not any(map(_names, value.values()))
    return None if fits else "a map of names to lists of different names"


def _type(value: Any) -> str | None:
    names = [value] if isinstance(value, str) else value
    fits = isinstance(names, list) and names and _names(names) is None and all(name in TYPES for name in names)
    return None if fits else f"one or more of {', '.join(TYPES)}"


_KINDS: Mapping[Check, tuple[str, ...]] = {
    _number: ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    _positive: ("multipleOf",),
    _count: (
        *("minLength", "maxLength", "minItems", "maxItems"),
        *("minProperties", "maxProperties", "minContains", "maxContains"),
    ),
    _text: (
        *("$schema", "$ref", "$dynamicRef", "$comment", "title", "description"),
        *("pattern", "format", "contentEncoding", "contentMediaType"),
    ),
    _matching(_NAME, "a name of letters, digits, '-', '_' and '.'"): ("$anchor", "$dynamicAnchor"),
    _matching(_ID, "a URI without a fragment"): ("$id",),
    _boolean: ("uniqueItems", "deprecated", "readOnly", "writeOnly"),
    _list: ("enum", "examples"),
    _map: NAMED,
    _schemas: LISTED,
    _names: ("required",),
    _lists_of_names: ("dependentRequired",),
    _type: ("type",),
}
_CHECKS: dict[str, Check] = {keyword: check for check, keywords in _KINDS.items() for keyword in keywords}
