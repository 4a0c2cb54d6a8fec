"""Text to data: what a document may hold, and how it is refused."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from orchestrator.domain.limits import Limits
from orchestrator.domain.load import load_text
from orchestrator.domain.loading import yaml_text
from orchestrator.errors import InvalidDefinition


@pytest.fixture(params=["C", "Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both YAML parsers: the C one may be missing where no wheel fits."""
    loader = yaml.SafeLoader if request.param == "Python" else yaml.CSafeLoader
    monkeypatch.setattr(yaml_text, "_Loader", loader)
    return str(request.param)


def refusal(source: str | bytes, **limits: int) -> str:
    with pytest.raises(InvalidDefinition) as caught:
        load_text(source, limits=Limits(**limits))
    assert len(caught.value.problems) == 1
    return str(caught.value.problems[0])


@pytest.mark.parametrize(
    "text",
    ["on", "yes", "No", "y", "2024-01-01", "2024-01-01T10:00:00Z", "12:30", "190:20:30", "010", "0x10", "0o17", "1_000"]
    + ["+49", ".5", "5.", "0b1", "=", "NaN", "Infinity", "1.2.3", "1e", "-a", "nul", "tRue", "１"],  # noqa: RUF001
)
def test_what_is_no_json_scalar_stays_text_as_it_is_written(parser: str, text: str) -> None:
    assert load_text(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("7", 7), ("-0", 0), ("1.50", 1.5)]
    + [("1e3", 1000.0), ("-2.5E-1", -0.25), ("'7'", "7"), ('"true"', "true"), ("|\n  7", "7")],
)
def test_json_scalars_are_values_and_quoted_ones_text(parser: str, text: str, value: Any) -> None:
    loaded = load_text(f"a: {text}")["a"]
    assert loaded == value
    assert type(loaded) is type(value)


def test_keys_are_text_as_they_are_written(parser: str) -> None:
    assert load_text("on: 1\n404: 2\ntrue: 3\n1.0: 4\nnull: 5") == {"on": 1, "404": 2, "true": 3, "1.0": 4, "null": 5}


def test_json_and_yaml_of_the_same_document_are_the_same() -> None:
    assert load_text('{"a": [1, 2.5, "x", null, true], "b": {}}') == load_text("a: [1, 2.5, x, null, true]\nb: {}")


def test_a_json_text_is_never_read_as_yaml() -> None:
    assert "line 1, column 10" in refusal('{"a": 1, }')
    assert "is not valid JSON" in refusal('{"a": /* no */ 1}')
    assert load_text("{a: b}") == {"a": "b"}


@pytest.mark.parametrize(
    ("source", "place", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1", "'a' stands twice in this map (first in line 1)"),
        ('{"a": 1,\n "b": {"c": 1, "c": 2}}', "b.c: line 2, column 16", "'c' stands twice"),
        ("a: [1\nb: 2", "line 2, column", "not valid YAML"),
        ("a: .nan", "a: line 1, column 4", "'.nan' is not a number that JSON can hold"),
        ("- -.inf", "[0]: line 1, column 3", "'-.inf' is not a number"),
        ('{"a": [1, NaN]}', "a[1]: line 1, column 11", "NaN is not a number"),
        ('{"a": -Infinity}', "a: line 1, column 7", "-Infinity is not a number"),
        ("a: 1e999", "a: line 1, column 4", "larger than any number"),
        ('{"a": 1e999}', "a: line 1, column 7", "larger than any number"),
        ("a: " + "9" * 301, "a: line 1, column 4", "more than 300 digits"),
        ('{"a": ' + "9" * 5000 + "}", "a: line 1, column 7", "more than 300 digits"),
        ('a: "x\\0y"', "a: line 1, column 4", "NUL"),
        ('{"a": "x\\u0000y"}', "a: line 1, column 7", "NUL"),
        ('{"a": "\\ud800"}', "a: line 1, column 7", "surrogate"),
        ("a: \ud800", "line 1, column 4", "surrogate"),
        ("a: b\x00", "line 1, column 5", "NUL"),
        ("a: b\n---\nc: d", "line 2, column 1", "a second document"),
        ("a: !!python/object:os.system x", "a: line 1, column 4", "'!!python/object:os.system' are not read"),
        ("a: !!str x", "a: line 1, column 4", "tags"),
        ("a: !own {}", "a: line 1, column 4", "tags"),
        ("%TAG ! x:\n---\na: b", "line 1, column 1", "tag directives"),
        ("base: &x {a: 1}\nb:\n  <<: *x", "b: line 3, column 3", "merge keys"),
        ("? [a]\n: b", "line 1, column 3", "a key must be a text"),
        ("a: *nope", "a: line 1, column 4", "nope"),
        ("a: &x [*x]", "a[0]: line 1, column 8", "holds itself"),
        ("? \n: b", "line 1, column 2", "a key is missing"),
        (b"a: caf\xe9", "line 1, column 7", "byte 0xe9 is not valid UTF-8"),
    ],
)
def test_what_is_refused_is_placed(source: str | bytes, place: str, words: str) -> None:
    told = refusal(source)
    assert place in told
    assert words in told


@pytest.mark.parametrize("source", ["", " \n", "# nothing\n", b"\xef\xbb\xbf"])
def test_an_empty_text_is_refused(source: str | bytes) -> None:
    assert "it is empty" in refusal(source)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_named(encoding: str) -> None:
    assert "UTF-" in refusal("a: é".encode(encoding))


def test_a_byte_order_mark_of_utf_8_is_left_out() -> None:
    assert load_text("\ufeffa: b".encode()) == load_text("\ufeffa: b") == {"a": "b"}


@pytest.mark.parametrize("source", ["a" * 2_000_000, b"a" * 2_000_000, '["' + "a" * 2_000_000 + '"]', "é" * 600_000])
def test_a_text_over_a_megabyte_is_refused_before_it_is_read(source: str | bytes) -> None:
    assert "larger than 1048576 bytes" in refusal(source)


def test_a_text_of_just_the_limit_is_read() -> None:
    assert load_text('"' + "a" * 98 + '"', limits=Limits(document_bytes=100)) == "a" * 98
    assert "larger than 99 bytes" in refusal('"' + "a" * 98 + '"', document_bytes=99)


def test_a_higher_limit_holds_for_yaml_too() -> None:
    text = f"a: {'b' * (5 << 20)}"
    assert load_text(text, limits=Limits(document_bytes=6 << 20)) == {"a": "b" * (5 << 20)}


@pytest.mark.parametrize(
    "source",
    ["[" * 100_000, "[" * 101 + "]" * 101, "- " * 101 + "a", '{"a":' * 101 + "1" + "}" * 101, "{a: " * 400]
    + ["\n".join(" " * depth + "a:" for depth in range(101)), "? " * 200],
)
def test_deep_nesting_is_refused(parser: str, source: str) -> None:
    refusal(source)


def test_nesting_up_to_the_limit_is_read() -> None:
    for text in ("[" * 100 + "]" * 100, "- " * 100 + "a"):
        value = load_text(text)
        for _ in range(99):
            (value,) = value
        assert value in ([], ["a"])


def test_aliases_are_the_anchored_value() -> None:
    assert load_text("a: &x {b: [1]}\nc: *x\nd: &y text\n*y : 1") == {
        "a": {"b": [1]},
        "c": {"b": [1]},
        "d": "text",
        "text": 1,
    }


def test_a_billion_laughs_are_refused(parser: str) -> None:
    lines = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    assert "with its aliases written out it is larger than 4194304 bytes" in refusal("\n".join(lines))


def test_one_long_text_used_often_is_refused(parser: str) -> None:
    assert "aliases" in refusal(f"- &a {'x' * 500_000}\n" + "- *a\n" * 100)


def test_aliases_cannot_nest_deeper_than_the_limit(parser: str) -> None:
    chain = ["- &a0 [x]"] + [f"- &a{i} [*a{i - 1}]" for i in range(1, 2000)]
    assert "nested more than 100 levels" in refusal("\n".join(chain))


def test_duplicate_keys_are_found_among_many() -> None:
    many = ", ".join(f'"k{i}": {i}' for i in range(20_000))
    assert "'k7' stands twice" in refusal("{" + many + ', "k7": 1}')
