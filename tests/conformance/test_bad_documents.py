"""Documents that nobody here made up (tests/data/SOURCES.md), and those that are made to break a reader.

Whatever is given, the answer is a value or `InvalidDefinition`, and the answer to what is no workflow is the latter.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.domain.draw import draw
from orchestrator.domain.graph import make_plan
from orchestrator.domain.inputs import check_input
from orchestrator.domain.limits import Limits
from orchestrator.domain.load import load_text
from orchestrator.domain.loading import yaml_text
from orchestrator.domain.parse import parse
from orchestrator.errors import InvalidDefinition
from tests.documents import document, step

DATA = Path(__file__).parents[1] / "data"
MEBIBYTE = 1 << 20

# Valid JSON that a definition cannot be: a key twice, or the character NUL, which Postgres cannot store.
REFUSED_ON_PURPOSE = {
    "y_object_duplicated_key",
    "y_object_duplicated_key_and_value",
    "y_object_escaped_null_in_key",
    "y_string_null_escape",
}
# Not JSON, and not written as JSON is; as YAML they are good: `{a: "b"}`, `[-]`, `abc`. None is a workflow.
YAML_ALL_THE_SAME = {
    "n_array_just_minus",
    "n_incomplete_false",
    "n_incomplete_null",
    "n_incomplete_true",
    "n_number_++",
    "n_number_+1",
    "n_number_+Inf",
    "n_number_-NaN",
    "n_number_.-1",
    "n_number_.2e-3",
    "n_number_Inf",
    "n_number_minus_sign_with_trailing_garbage",
    "n_number_neg_real_without_int_part",
    "n_number_starting_with_dot",
    "n_object_emoji",
    "n_object_key_with_single_quotes",
    "n_object_non_string_key",
    "n_object_non_string_key_but_huge_number_instead",
    "n_object_single_quote",
    "n_object_unquoted_key",
    "n_string_accentuated_char_no_quotes",
    "n_string_leading_uescaped_thinspace",
    "n_string_no_quotes_with_bad_escape",
    "n_string_single_quote",
    "n_string_single_string_no_double_quotes",
    "n_structure_U+2060_word_joined",
    "n_structure_angle_bracket_.",
    "n_structure_angle_bracket_null",
    "n_structure_ascii-unicode-identifier",
    "n_structure_capitalized_True",
    "n_structure_close_unopened_array",
    "n_structure_number_with_trailing_garbage",
    "n_structure_uescaped_LF_before_string",
    "n_structure_unicode-identifier",
    "n_structure_whitespace_U+2060_word_joiner",
}
# Where the parser beneath reads YAML 1.1 or is mistaken; none matters to a workflow.
READ_OTHERWISE = {"652Z", "HM87:01", "L24T:01", "Y2GN"}


@cache
def cases(name: str) -> list[Any]:
    found: list[Any] = json.loads((DATA / name).read_text())["cases"]
    return found


def json_cases(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["name"]) for case in cases("json_suite.json") if case["name"][0] == kind]


def body(case: dict[str, Any]) -> bytes:
    return base64.b64decode(case["base64"]) * int(case.get("times", 1))


def told(source: str | bytes) -> str:
    """What is said about a text that is no workflow."""
    with pytest.raises(InvalidDefinition) as caught:
        parse(load_text(source))
    assert all(problem.message for problem in caught.value.problems)
    return str(caught.value)


@pytest.mark.parametrize("case", json_cases("n"))
def test_what_is_not_json_is_refused(case: dict[str, Any]) -> None:
    assert len(told(body(case))) < 500
    if case["name"] in YAML_ALL_THE_SAME:
        load_text(body(case))
    else:
        with pytest.raises(InvalidDefinition, match=r"line \d+, column \d+|is empty|UTF"):
            load_text(body(case))


@pytest.mark.parametrize("case", json_cases("y"))
def test_json_is_read_as_it_is(case: dict[str, Any]) -> None:
    if case["name"] in REFUSED_ON_PURPOSE:
        with pytest.raises(InvalidDefinition, match="stands twice|NUL"):
            load_text(body(case))
    else:
        assert load_text(body(case)) == json.loads(body(case))
    told(body(case))


@pytest.mark.parametrize("case", json_cases("i"))
def test_what_json_leaves_open_is_read_or_refused(case: dict[str, Any]) -> None:
    try:
        value = load_text(body(case))
    except InvalidDefinition as error:
        message = str(error)
        assert "line" in message or "UTF" in message, message  # noqa: PT017
    else:
        json.dumps(value, allow_nan=False).encode()
    told(body(case))


def reads_right(case: dict[str, Any], *, exactly: bool) -> bool:
    """Whether a YAML text is refused, or read as JSON can hold it (and `exactly` as the suite says)."""
    try:
        value = load_text(case["yaml"])
    except InvalidDefinition:
        return bool(told(case["yaml"]))
    if "json" in case and case["valid"] and case["id"] not in READ_OTHERWISE and exactly:
        return bool(value == json.loads(case["json"]))
    return bool(json.loads(json.dumps(value, allow_nan=False)) == value)


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_yaml_is_read_or_refused(loader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "_Loader", getattr(yaml, loader))
    suite = cases("yaml_suite.json")
    assert [case["id"] for case in suite if not reads_right(case, exactly=loader == "CSafeLoader")] == []


def test_most_of_the_yaml_suite_is_read() -> None:
    """So that refusing everything does not pass."""
    assert sum(case["valid"] and loads(case["yaml"]) for case in cases("yaml_suite.json")) > 180


def loads(text: str) -> bool:
    try:
        load_text(text)
    except InvalidDefinition:
        return False
    return True


def places(made: Any) -> set[str]:
    """Where a document has problems, if it has any."""
    try:
        parse(made)
    except InvalidDefinition as error:
        return {problem.path for problem in error.problems}
    return set()


def test_a_naughty_string_is_a_value_like_any_other() -> None:
    for text in cases("naughty_strings.json"):
        made = document(step("a", input={"x": text, text: "y"}), description=text, label=text)
        if "{{" in text:
            assert places(made) <= {"steps[0].input.x"}, text
        else:
            assert parse(made).steps[0].input == {"x": text, text: "y"}, text


def test_a_naughty_string_is_a_name_or_refused_as_one() -> None:
    drawn = 0
    for text in cases("naughty_strings.json"):
        made = document(step(text), step("b", text))
        if places(made):
            assert places(made) <= {"steps[0].name", "steps[1].depends_on[0]"}, text
        else:
            assert all(draw(make_plan(parse(made)), form) for form in ("dot", "mermaid", "svg"))
            drawn += 1
    assert drawn > 350


def test_a_naughty_string_in_any_field_is_taken_or_told_there() -> None:
    fields = ("function", "when", "timeout", "queue", "on_error", "join", "trigger_rule", "label", "priority", "retry")
    for text in cases("naughty_strings.json"):
        for key in fields:
            made = document(step("z"), {"name": "a", "function": "f", "depends_on": "z", key: text})
            assert places(made) <= {f"steps[1].{key}"}, (key, text)


def test_a_naughty_string_is_no_workflow() -> None:
    for text in cases("naughty_strings.json"):
        assert told(text)


def test_a_naughty_string_is_an_input_like_any_other() -> None:
    schema = {"properties": {"a": {"type": "string"}}, "additionalProperties": {"maxLength": 5000}}
    for text in cases("naughty_strings.json"):
        assert check_input(schema, {"a": text, text: text}) == {"a": text, text: text}


def filled(unit: str, head: str = "", tail: str = "") -> str:
    """A text of just under a mebibyte."""
    return head + unit * ((MEBIBYTE - len(head) - len(tail)) // len(unit)) + tail


def templates(expressions: Iterable[str]) -> str:
    """A document of one step with these expressions, each in a text of its own."""
    texts = ",".join(f'"{{{{{expression}}}}}"' for expression in expressions)
    return f'{{"name":"w","steps":[{{"name":"a","pass":true,"input":[{texts}]}}]}}'


HOSTILE = {
    "brackets": "[" * MEBIBYTE,
    "braces": "{" * MEBIBYTE,
    "dashes": filled("- "),
    "questions": filled("? "),
    "colons": filled(": "),
    "tags": filled("! "),
    "anchors": filled("&a "),
    "tag directives": "".join(f"%TAG !a{i}! x\n" for i in range(58_000)) + "--- a\n",
    "percents": filled("%"),
    "tabs": filled("\t"),
    "comments": filled("#\n"),
    "an open text": filled("a", '"'),
    "an open json text": filled("a", '{"a": "'),
    "quotes": filled('"'),
    "a long key": filled("a", "", ": b"),
    "a long number": filled("9", "a: "),
    "a long json number": filled("9", '{"a": ', "}"),
    "an exponent": filled("9", '{"a": 1e', "}"),
    "many aliases": filled("- *a\n", "- &a x\n"),
    "many anchors": "".join(f"- &a{i} x\n" for i in range(70_000)),
    "many documents": filled("---\n"),
    "many elements": filled("[],", "[", "[]]"),
    "steps that are no maps": filled("1,", '{"name":"w","steps":[', "1]}"),
    "steps that are empty": filled("{},", '{"name":"w","steps":[', "{}]}"),
    "unknown keys": '{"name":"w","steps":[{"name":"a","pass":true}],'
    + ",".join(f'"k{i}":1' for i in range(60_000))
    + "}",
    "unknown sources": '{"name":"w","steps":[{"name":"a","pass":true,"depends_on":['
    + ",".join(f'"n{i}"' for i in range(60_000))
    + "]}]}",
    "many edges": '{"name":"w","steps":[{"name":"a","pass":true},{"name":"b","pass":true,"depends_on":['
    + ",".join(f'{{"step":"a","when":"{i}"}}' for i in range(20_000))
    + ']}],"x":1}',
    "a long template": filled("{{ a }}", '{"name":"w","steps":[{"name":"a","pass":true,"input":"', '"}]}'),
    "open templates": filled("{{", '{"name":"w","steps":[{"name":"a","pass":true,"input":"', '"}]}'),
    "templates of many kinds": '{"name":"w","steps":[{"name":"a","pass":true,"input":['
    + ",".join(f'"{{{{ input.a{i} }}}}"' for i in range(40_000))
    + '1]}],"x":1}',
    "templates of many elements": templates(f"[{i}{',1' * 16_000}]" for i in range(32)),
    "templates of many operations": templates(f"{i}{'+1' * 140}" for i in range(3_500)),
    "templates of many brackets": templates(f"{'[' * 30}{i}{']' * 30}" for i in range(14_000)),
    "templates of many parts": templates(f"input{'.b' * 140}{i}" for i in range(3_400)),
    "a schema of many patterns": '{"name":"w","steps":[{"name":"a","pass":true}],"input_schema":{"patternProperties":{'
    + ",".join(f'"(a{i}+)+$":{{}}' for i in range(40_000))
    + "}}}",
    "a million laughs": "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 30)),
}


@pytest.mark.timeout(300)  # what grows too fast would take hours
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_mebibyte_is_refused(text: str) -> None:
    assert len(text) <= MEBIBYTE
    assert len(told(text)) < 300_000


def test_a_document_of_two_megabytes_is_refused_unread() -> None:
    big = json.dumps(document(step("a"), description="x" * 2_000_000))
    assert "larger than 1048576 bytes" in told(big)
    assert "larger than 1048576 bytes" in told(big.encode())


@pytest.mark.timeout(300)  # what grows too fast would take hours
def test_twenty_thousand_steps_in_one_circle_are_refused() -> None:
    size = 20_000
    steps = [step(f"s{i}", f"s{(i + 1) % size}") for i in range(size)]
    with pytest.raises(InvalidDefinition, match="in a circle"):
        parse(document(*steps), limits=Limits(document_bytes=4 * MEBIBYTE))


@pytest.mark.timeout(300)  # what grows too fast would take hours
def test_twenty_thousand_steps_that_are_all_wrong_are_told_in_short() -> None:
    steps = [{"name": f"s{i}", "functoin": "f", "depends_on": [f"x{i}"], "when": "("} for i in range(20_000)]
    with pytest.raises(InvalidDefinition) as caught:
        parse(document(*steps), limits=Limits(document_bytes=4 * MEBIBYTE))
    assert caught.value.problems[-1].message.startswith("and at least ")
