"""What can be stored, and the path to what cannot."""

from __future__ import annotations

import enum
import json
import math
import tracemalloc
from collections import Counter, OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.values import storable
from orchestrator.errors import UnstorableValue

LIMIT = 1 << 20

# What Postgres can hold: no NUL, no half of a surrogate pair.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Kind(enum.Enum):
    ODD = "odd"


class Half(float):
    pass


class Liar:
    """Says that it is a text."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return str


class Hostile:
    """Cannot be asked anything."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("no")

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __eq__ = __hash__ = __repr__  # type: ignore[assignment]


@dataclass
class Point:
    x: int = 1


Pair = namedtuple("Pair", "left right")


def fault(value: Any, max_bytes: int = LIMIT) -> UnstorableValue:
    with pytest.raises(UnstorableValue) as caught:
        storable(value, max_bytes=max_bytes)
    return caught.value


def nested(value: Any, levels: int) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def itself() -> Any:
    value: dict[str, Any] = {"a": [1]}
    value["a"].append(value)
    return value


@given(json_values)
def test_json_comes_back_as_it_went_in(value: Any) -> None:
    stored, text = storable(value, max_bytes=LIMIT)
    assert json.loads(text) == stored == json.loads(json.dumps(value))
    assert text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(json_values)
def test_what_comes_back_types_included_is_json_dumps_and_loads(value: Any) -> None:
    stored, _ = storable(value, max_bytes=LIMIT)
    assert repr(stored) == repr(json.loads(json.dumps(value)))


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ((1, (2, [3])), [1, [2, [3]]]),
        ({"a": (1,)}, {"a": [1]}),
        (Pair(1, 2), [1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (Counter("aa"), {"a": 2}),
        (Colour.RED, "red"),
        ({Colour.RED: [Colour.RED]}, {"red": ["red"]}),
        (Level.HIGH, 3),
        ([Half(0.5)], [0.5]),
        (r"a\u0000b", r"a\u0000b"),
        ("\u0001\u001f\x7f", "\u0001\u001f\x7f"),
        ("é€😀", "é€😀"),
        (-0.0, -0.0),
        (10**4299, 10**4299),
        (nested(1, 200), nested(1, 200)),
    ],
)
def test_close_relatives_of_json_are_stored_as_json(value: object, stored: object) -> None:
    given_, text = storable(value, max_bytes=LIMIT)
    assert repr(given_) == repr(stored)
    assert json.loads(text) == stored


def test_what_is_stored_shares_no_part_with_what_was_given() -> None:
    value = {"rows": [{"a": 1}]}
    stored, _ = storable(value, max_bytes=LIMIT)
    stored["rows"][0]["a"] = 2
    assert value == {"rows": [{"a": 1}]}


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: math.nan, "nan is not a number JSON can hold"),
        (lambda: math.inf, "inf is not a number"),
        (lambda: -math.inf, "-inf is not a number"),
        (lambda: Half("nan"), "nan is not a number"),
        (lambda: "a\0b", "a NUL character"),
        (lambda: "\ud800", "half of a surrogate pair"),
        (lambda: "x\udfff", "half of a surrogate pair"),
        (lambda: {1, 2}, "a set"),
        (lambda: frozenset(), "a set"),
        (lambda: b"x", "bytes"),
        (lambda: bytearray(b"x"), "bytes"),
        (lambda: memoryview(b"x"), "bytes"),
        (lambda: datetime(2026, 1, 1, tzinfo=UTC), "a datetime; give its isoformat()"),
        (lambda: date(2026, 1, 1), "a date"),
        (lambda: time(1), "a time"),
        (lambda: timedelta(1), "a timedelta"),
        (lambda: Decimal("1.5"), "a Decimal"),
        (lambda: UUID(int=1), "a UUID"),
        (lambda: 1j, "a complex number"),
        (lambda: Kind.ODD, "an object of class Kind"),
        (lambda: Point(), "an object of class Point"),
        (lambda: Point, "an object of class type"),
        (lambda: Path("x"), "an object of class"),
        (lambda: MappingProxyType({}), "an object of class mappingproxy"),
        (lambda: (i for i in ()), "a generator"),
        (lambda: range(3), "an object of class range"),
        (lambda: print, "an object of class builtin_function_or_method"),
        (lambda: Liar(), "an object of class Liar"),
        (lambda: Hostile(), "an object of class Hostile"),
        (lambda: ValueError("x"), "an object of class ValueError"),
        (lambda: 10**4300, "more than 4,300 digits"),
        (lambda: {1: 2}, "a key is 1 (int)"),
        (lambda: {None: 2}, "a key is None (NoneType)"),
        (lambda: {True: 2}, "a key is True (bool)"),
        (lambda: {1.5: 2}, "a key is 1.5 (float)"),
        (lambda: {(1, 2): 2}, "a key is of class tuple"),
        (lambda: {b"a": 2}, "a key is of class bytes"),
        (lambda: {Kind.ODD: 2}, "a key is of class Kind"),
        (lambda: nested(1, 250), "nested more than 200 levels deep"),
        (lambda: nested({}, 100_000), "nested more than 200 levels deep"),
        (lambda: itself(), "contains itself"),
    ],
    ids=range(41),
)
def test_what_cannot_be_stored_is_refused_with_its_path(make: Callable[[], Any], told: str) -> None:
    part = make()
    for value, path in ((part, "$"), ({"rows": [1, [], {"a": 1}, {"when": part}]}, "$.rows[3].when")):
        error = fault(value)
        assert told in str(error)
        assert error.path.startswith(path)
        assert str(error).startswith(f"{error.path}: ")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a\0b": 1}, r"$['a\x00b']"),
        ({"x": {"\ud800": 1}}, r"$.x['\ud800']"),
        ({"no name": [{1}]}, "$['no name'][0]"),
        ({"1": ({1},)}, "$['1'][0]"),
        ({"a": {"b": {1: 2}}}, "$.a.b"),
        ({"ok": {"a": 1}, "no": {2: 1}}, "$.no"),
        ([[1], [2, Pair(1, b"")]], "$[1][1][1]"),
        (itself(), "$.a[1]"),
        ({"k" * 1000: {1}}, "$." + "k" * 100),
    ],
)
def test_a_path_reads_like_one(value: object, path: str) -> None:
    assert fault(value).path == path


def test_a_message_can_always_be_stored() -> None:
    for value in ({"\ud800\0": math.nan}, {"a": {"\0": {1}}}, "\ud800\0"):
        text = str(fault(value))
        text.encode()
        assert "\0" not in text


def test_a_key_that_becomes_another_key_is_refused() -> None:
    assert fault({"a": {1: "x", "1": "y"}}).path == "$.a"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("x" * 20_000_000, "$"),
        ({"id": 1, "blob": "x" * 20_000_000}, "$.blob"),
        ({"a": ["x" * 400_000] * 2, "b": "x" * 700_000}, "$.a"),
        ([1, "x" * 100, list(range(500_000))], "$[2]"),
        ({"rows": [{"id": i} for i in range(200_000)]}, "$.rows"),
        (("x" * 600_000, "é" * 600_000), "$[0]"),
        ("é" * 600_000, "$"),
        ('"' * 600_000, "$"),
        ({"k" * 2_000_000: 1}, "$"),
    ],
    ids=range(9),
)
def test_what_is_too_large_names_its_largest_part(value: object, path: str) -> None:
    error = fault(value)
    assert "more than 1048576 bytes" in str(error)
    assert error.path.startswith(path)


@given(json_values)
def test_the_limit_is_the_size_of_the_text_in_utf8(value: Any) -> None:
    _, text = storable(value, max_bytes=LIMIT)
    size = len(text.encode())
    assert storable(value, max_bytes=size)[1] == text
    assert "bytes of JSON" in str(fault(value, max_bytes=size - 1))


def _laughs(leaf: Any, wrap: Callable[[Any], Any], levels: int) -> Any:
    for _ in range(levels):
        leaf = wrap(leaf)
    return leaf


@pytest.mark.parametrize(
    "value",
    [
        _laughs([], lambda part: [part, part], 60),
        _laughs({}, lambda part: {"a": part, "b": part}, 60),
        _laughs((), lambda part: (part, part), 60),
        _laughs("x", lambda part: [part] * 1000, 5),
        [["x" * 50_000]] * 1_000_000,
        [{"k" * 50_000: 1}] * 1_000_000,
        [[0] * 20_000] * 1_000_000,
    ],
    ids=["lists", "maps", "tuples", "wide", "texts", "keys", "numbers"],
)
def test_parts_found_many_times_over_do_not_use_up_the_memory(value: object) -> None:
    tracemalloc.start()
    try:
        error = fault(value, max_bytes=1 << 14)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "more than 16384 bytes" in str(error)
    assert peak < 5 << 20


def test_a_part_that_is_there_twice_is_not_a_cycle() -> None:
    part = {"a": (1,)}
    assert storable([part, part], max_bytes=LIMIT)[0] == [{"a": [1]}, {"a": [1]}]


@given(st.recursive(json_values | st.binary() | st.sets(st.integers()) | st.just(math.nan) | st.text(), st.lists))
def test_every_value_is_stored_or_refused_with_a_path(value: Any) -> None:
    try:
        stored, text = storable(value, max_bytes=LIMIT)
    except UnstorableValue as error:
        stored, text = error.path, json.dumps(error.path)
    assert json.loads(text) == stored
    assert b"\0" not in json.dumps(stored, ensure_ascii=False).encode()
    assert "\\u0000" not in text.replace("\\\\", "")
