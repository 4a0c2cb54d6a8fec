"""Exceptions as data, however hostile."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain import describe
from orchestrator.domain.describe import clean_text
from orchestrator.domain.values import describe_exception, storable


class Declined(ValueError):
    pass


class Renamed(Exception):
    pass


class _Nameless(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError("no name")

    @property
    def __mro__(cls) -> Any:
        raise RuntimeError("no bases")


class Nameless(Exception, metaclass=_Nameless):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Exits(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class Recursive(Exception):
    def __str__(self) -> str:
        return str(self)


class Endless(Exception):
    def __str__(self) -> str:
        while True:
            pass


class NotText(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class EndlessArgument:
    def __repr__(self) -> str:
        while True:
            len([])


class OddText(str):
    def __len__(self) -> int:
        raise RuntimeError("no length")

    __getitem__ = encode = isascii = __len__  # type: ignore[assignment]


class Odd(Exception):
    def __str__(self) -> str:
        return OddText("odd")


class Elusive(Exception):
    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("no class")

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no attributes")


class Unpicklable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one}{two}")
        self.stream = sys.stderr

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle")


def described(error: BaseException) -> dict[str, Any]:
    """The description of `error` once it was raised, checked to be storable and bounded."""
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001
        given_ = describe_exception(caught)
    assert storable(given_, max_bytes=1 << 17)[0] == given_
    assert set(given_) == {"type", "message", "traceback", "classes"}
    assert len(given_["message"]) <= 10_000
    assert len(given_["traceback"]) <= 20_000
    return given_


def test_an_exception_is_told_by_class_message_traceback_and_bases() -> None:
    given_ = described(Declined("no funds"))
    assert given_["type"] == "Declined"
    assert given_["message"] == "no funds"
    assert given_["classes"] == ["Declined", f"{__name__}.Declined", "ValueError", "Exception", "BaseException"]
    assert "in described\n    raise error\n" in given_["traceback"]
    assert given_["traceback"].endswith("Declined: no funds\n")


def test_what_led_to_it_is_told_before_it() -> None:
    try:
        try:
            raise KeyError("first")
        except KeyError as first:
            raise Declined("second") from first
    except Declined as error:
        told = describe_exception(error)["traceback"]
    assert told.index("KeyError: 'first'") < told.index("That caused:") < told.index("Declined: second")


def test_exceptions_that_led_to_each_other_end() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    told = described(one)["traceback"]
    assert told.count("ValueError: one") == told.count("ValueError: two") == 1


def test_a_hidden_context_is_not_told() -> None:
    error = Declined("told")
    error.__context__ = ValueError("not told")
    error.__suppress_context__ = True
    assert "not told" not in described(error)["traceback"]


class Looped(Exception):
    def __str__(self) -> str:
        return " ".join(str(number) for number in range(20))


def test_no_message_is_lost_where_the_machine_stands_still_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([100.0])
    monkeypatch.setattr(describe, "monotonic", lambda: next(looks, 105.0))
    assert described(Looped())["message"].endswith("18 19")


def test_an_exception_that_waits_for_something_to_print_itself_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = iter(range(100))
    monkeypatch.setattr(describe, "monotonic", lambda: float(next(looks)))
    assert described(Looped())["message"] == "(its message cannot be shown: TooLong)"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Unprintable(), "(its message cannot be shown: RuntimeError)"),
        (Exits(), "(its message cannot be shown: SystemExit)"),
        (Recursive(), "(its message cannot be shown: RecursionError)"),
        (NotText(), "(its message cannot be shown: TypeError)"),
        (ValueError(Unprintable()), "(its message cannot be shown: RuntimeError)"),
        (Endless(), "(its message cannot be shown: TooLong)"),
        (ValueError(EndlessArgument()), "(its message cannot be shown: TooLong)"),
        (Odd(), "odd"),
        (Unpicklable(1, 2), "12"),
        (Declined(), ""),
    ],
    ids=[
        "unprintable",
        "exits",
        "recursive",
        "not-text",
        "argument",
        "endless",
        "endless-argument",
        "odd",
        "unpicklable",
        "silent",
    ],
)
def test_an_exception_that_cannot_be_printed_is_still_told(error: Exception, message: str) -> None:
    given_ = described(error)
    assert given_["message"] == message
    assert given_["type"] == type(error).__name__


def test_an_exception_that_hides_its_class_is_still_told() -> None:
    assert describe_exception(Nameless("m"))["type"] == "Nameless"
    assert describe_exception(Nameless("m"))["classes"][0] == "Nameless"
    assert describe_exception(Elusive("m"))["type"] == "Elusive"


def test_a_tracer_that_was_there_is_there_again() -> None:
    before = sys.gettrace()
    describe_exception(Endless())
    assert sys.gettrace() is before


def test_a_class_with_an_odd_name_and_no_module_is_told_in_short() -> None:
    Renamed.__name__ = "n" * 5000
    Renamed.__module__ = 5  # type: ignore[assignment]
    given_ = described(Renamed("x"))
    assert len(given_["type"]) <= 200
    assert given_["classes"][1:] == ["Exception", "BaseException"]


def test_a_huge_message_is_cut_and_says_so() -> None:
    given_ = described(ValueError("x" * 20_000_000))
    assert given_["message"].endswith("... (20000000 characters)")
    assert len(json.dumps(given_)) < 40_000


def test_what_postgres_cannot_store_is_replaced() -> None:
    assert described(ValueError("a\0b\ud800c"))["message"] == "a\ufffdb?c"


def test_a_deep_traceback_is_bounded_and_keeps_its_end() -> None:
    def deeper(n: int) -> None:
        if n == 0:
            raise Declined("at the bottom")
        deeper(n - 1)

    with pytest.raises(Declined) as caught:
        deeper(500)
    told = describe_exception(caught.value)["traceback"]
    assert len(told) <= 20_000
    assert told.endswith("Declined: at the bottom\n")


def test_many_exceptions_that_led_to_it_are_bounded() -> None:
    error: Exception = ValueError("x" * 50_000)
    for _ in range(1000):
        error, error.__cause__ = ValueError("x" * 50_000), error
    assert len(described(error)["traceback"]) <= 20_000


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit(), MemoryError()], ids=repr)
def test_what_is_not_an_exception_is_told_too(error: BaseException) -> None:
    assert described(error)["type"] == type(error).__name__


@given(st.text())
def test_any_message_is_told_as_storable_text(message: str) -> None:
    given_ = describe_exception(ValueError(message))
    assert storable(given_, max_bytes=1 << 20)[0] == given_
    if message.isprintable():
        assert given_["message"] == message


@given(st.text(), st.integers(100, 200))
def test_clean_text_is_storable_and_no_longer_than_asked(text: str, limit: int) -> None:
    cleaned = clean_text(text * 10, limit)
    cleaned.encode()
    assert "\0" not in cleaned
    assert len(cleaned) <= limit
