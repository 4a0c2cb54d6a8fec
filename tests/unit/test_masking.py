"""Secrets are hidden wherever they stand in JSON, and what is left is JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.masking import Masker

REPRS = ['"***"', """["***", 'um "']""", """'\\'" ***'"""]


@pytest.mark.parametrize(
    ("secret", "value", "masked"),
    [
        ("5432", {"port": 5432, "ports": [5432, 15432]}, {"port": "***", "ports": ["***", 15432]}),
        ("0123456", [123456, 123456.0, "0123456"], ["***", "***", "***"]),
        ("12.50", 12.5, "***"),
        ("-1e3", -1000.0, "***"),
        ("0000", {"n": 0, "pin": "0000"}, {"n": 0, "pin": "***"}),
        ("true", [True, "true"], [True, "***"]),
        ("null", {"null": None}, {"***": None}),
        ('":1,"', {"a": 1, "b": 2, "c": 'x":1,"y'}, {"a": 1, "b": 2, "c": "x***y"}),
        ("a\\nb", ["a\nb", "a\\nb"], ["a\nb", "***"]),
        ("two\nlines", ["two\nlines", "two\\nlines"], ["***", "***"]),
        ("pass\"word'", ["not 'pass\"word\\''", '{"p": "pass\\"word\'"}'], ["not '***'", '{"p": "***"}']),
        ("dass'elbe", [repr("dass'elbe"), repr(["dass'elbe", 'um "']), repr("'\" dass'elbe")], REPRS),
        ("schl\u00fcssel", [r"schl\xfcssel", r"schl\u00fcssel", r"b'schl\xc3\xbcssel'"], ["***", "***", "b'***'"]),
        ("schlüssel", {"schlüssel": "der Schlüssel: schlüssel"}, {"***": "der Schlüssel: ***"}),
    ],
)
def test_a_secret_is_hidden_where_it_is_the_value_and_not_where_it_is_the_syntax(
    secret: str, value: Any, masked: Any
) -> None:
    masker = Masker([secret])
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        assert json.loads(masker.json(text)) == masked
    assert masker.value(value) == masked


def test_keys_that_differ_in_their_secrets_only_stay_apart() -> None:
    masked = Masker(["first", "second"]).value({"first": 1, "second": 2, "***": 3})
    assert masked == {"***": 1, "****": 2, "*****": 3}


def test_a_short_value_is_not_searched_for() -> None:
    assert not Masker(["abc", ""])
    assert Masker(["abc"]).json('{"abc": 123}') == '{"abc": 123}'


SECRETS = st.sampled_from(["1234", "12.5", "true", "null", "fals", '":1,', "[1,2", "{}}{", "\\u00", "é\né\n", "1e10"])
SCALARS = st.none() | st.booleans() | st.sampled_from([1234, 12.5, 1e10, 0.1]) | st.integers() | st.floats(0, 1e9)
TEXTS = st.text('1234.5truefalsn":,[]{}\\u0é\n', max_size=12)
JSON = st.recursive(
    SCALARS | TEXTS | SECRETS,
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(TEXTS | SECRETS, parts, max_size=4),
    max_leaves=12,
)


def leaves(value: Any) -> Iterator[Any]:
    """All keys and scalars of a value."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def quoted(secret: str) -> list[str]:
    return [secret, *(quote(secret)[1:-1] for quote in (repr, ascii, json.dumps)), repr(secret.encode())[2:-1]]


@given(st.sets(SECRETS, min_size=1), JSON)
def test_what_is_left_is_json_in_which_nothing_but_the_secrets_is_missing(secrets: set[str], value: Any) -> None:
    masked = json.loads(Masker(secrets).json(json.dumps(value)))
    numbers = [float(secret) for secret in secrets if secret in ("1234", "12.5", "1e10")]
    before, after = list(leaves(value)), list(leaves(masked))
    assert len(before) == len(after)
    for was, now in zip(before, after, strict=True):
        if isinstance(was, str):
            assert not any(secret in now for secret in secrets)
            assert now == was or any(form in was for secret in secrets for form in quoted(secret))
        else:
            hidden = was in numbers and not isinstance(was, bool)
            assert (now, type(now)) == (("***", str) if hidden else (was, type(was)))
