"""Paths and numbers are read without Jinja's parser, and mean the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.exceptions import TemplateSyntaxError

from orchestrator.domain.sandbox.environment import parse
from orchestrator.domain.sandbox.shortcut import shortcut
from orchestrator.domain.sandbox.syntax import read
from orchestrator.errors import ExpressionError

WORDS = st.sampled_from(
    ["a", "steps", "input", "true", "none", "not", "and", "in", "is", "if", "else", "_a", "a_1", "é"]
)
PARTS = WORDS.map(lambda word: f".{word}") | st.text("a'\"\\ é.#😀\n1").map(lambda text: f"['{text}']")
PATHS = st.builds(lambda name, parts: name + "".join(parts), WORDS, st.lists(PARTS, max_size=25))
SOURCES = PATHS | st.text("a1.[]'\"_ \\0\n+-|(", max_size=12) | st.integers(0, 10**20).map(str)


@given(st.sampled_from(["", " ", "\n", "  "]), SOURCES, st.sampled_from(["", " ", "\t"]))
def test_what_is_read_the_short_way_is_what_jinja_reads(before: str, source: str, after: str) -> None:
    short = shortcut(before + source + after)
    if short is not None:
        assert short == parse(before + source + after)


@pytest.mark.parametrize(
    "source",
    [
        "a",
        " steps.a.output ",
        "input['x y'].z",
        "steps['a.b#1'].output.c",
        "input['é 😀']",
        "7",
        " 123456 ",
        "a.true.not",
    ],
)
def test_ordinary_ones_are(source: str) -> None:
    assert shortcut(source) is not None
    assert read(source) == parse(source)


@pytest.mark.parametrize(
    "source",
    [
        *("true", "none", "not", "not a", "_a", "a b", "a.", "a.0", "a[0]", "a['x\\n']", "a['it''s']", "a()", "a|e"),
        *("007", "1.5", "1e3", "1_0", "10 20", "", " ", "12345678901234567", "a" + ".b" * 21),
    ],
)
def test_anything_else_is_left_to_jinja(source: str) -> None:
    assert shortcut(source) is None


@pytest.mark.parametrize("source", ["a" * 40_000, "a['" + "b" * 40_000 + "']"])
def test_a_path_may_not_be_longer_than_another_expression(source: str) -> None:
    with pytest.raises(ExpressionError, match="longer than 32768"):
        read(source)


def test_a_word_jinja_cannot_begin_with_is_refused_as_before() -> None:
    for source in ("not", "a.", "a b"):
        with pytest.raises((ExpressionError, TemplateSyntaxError)):
            read(source)
    with pytest.raises(ExpressionError, match="names do not begin with '_'"):
        read("_a.b")
