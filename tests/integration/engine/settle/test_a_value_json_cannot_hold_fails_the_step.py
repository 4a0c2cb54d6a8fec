"""What a function returns or raises that cannot be stored is a clean failure that names the path."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from orchestrator import testing
from tests.documents import document, step

_RING: dict[str, Any] = {}
_RING["self"] = _RING


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"rows": [1, {2, 3}]}, "$.rows[1]"),
        ([float("nan")], "$[0]"),
        ([float("inf")], "$[0]"),
        ({"a": "x\x00y"}, "$.a"),
        ({"a": b"bytes"}, "$.a"),
        (_RING, "$.self"),
        ({"lone": "\ud800"}, "$.lone"),
        (object(), "$"),
    ],
    ids=["a set", "NaN", "infinity", "NUL", "bytes", "a cycle", "a lone surrogate", "an object"],
)
def test_a_result_that_cannot_be_stored_fails_for_good_and_names_the_path(value: Any, path: str) -> None:
    made = document(step("a", function="f", retry={"max_attempts": 3}), step("b", "a", function="f"))
    result = testing.run(made, None, {"f": lambda: value})
    a = result.steps["a"]
    assert (result.status, a.status, a.attempts) == ("failed", "failed", 1)
    assert a.error is not None
    assert path in a.error["message"]
    assert a.output is None


def test_a_result_over_the_limit_fails() -> None:
    a = testing.run(document(step("a", function="f")), None, {"f": lambda: "x" * (20 << 20)}).steps["a"]
    assert a.status == "failed"
    assert a.error is not None
    assert "cannot be stored" in a.error["message"]


def test_an_exception_that_cannot_be_printed_is_told_by_its_class() -> None:
    def call() -> None:
        raise Unprintable

    a = testing.run(document(step("a", function="f")), None, {"f": call}).steps["a"]
    assert a.status == "failed"
    assert a.error is not None
    assert a.error["type"] == "Unprintable"


@pytest.mark.parametrize("message", ["nul \x00 in it", "lone \ud800 surrogate", "x" * (20 << 20)])
def test_an_exceptions_text_is_made_storable(message: str) -> None:
    def call() -> None:
        raise RuntimeError(message)

    a = testing.run(document(step("a", function="f")), None, {"f": call}).steps["a"]
    assert (a.status, a.reason) == ("failed", "error")
    assert a.error is not None
    assert a.error["type"] == "RuntimeError"


def test_a_function_that_exits_the_process_fails_its_step() -> None:
    def call() -> None:
        raise SystemExit(3)

    assert testing.run(document(step("a", function="f")), None, {"f": call}).steps["a"].status == "failed"


def test_dates_and_tuples_are_stored_as_json_says_or_refused() -> None:
    result = testing.run(document(step("a", function="f")), None, {"f": lambda: {"t": (1, 2)}})
    assert result.output == {"a": {"t": [1, 2]}}
    result = testing.run(document(step("a", function="f")), None, {"f": lambda: {"d": date(2026, 1, 2)}})
    assert result.status in ("failed", "succeeded")
    assert result.output is None or result.output == {"a": {"d": "2026-01-02"}}
