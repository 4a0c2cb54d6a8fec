"""Templates and expressions: what they give, what they say when something is missing, what they use."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.expressions import (
    SCOPE_ROOTS,
    Limits,
    compile_expression,
    compile_template,
    truthy,
)
from orchestrator.errors import ExpressionError

SCOPE: dict[str, Any] = {
    "input": {
        "n": 3,
        "name": "Ada",
        "items": [1, 2],
        "keys": "k",
        "nothing": None,
        "rows": [{"id": 1, "city": "Ulm"}, {"id": 2, "city": "Bonn"}, {"id": 3, "city": "ulm"}],
        "_id": 9,
    },
    "vars": {},
    "steps": {
        "charge": {"status": "succeeded", "output": {"n": 1, "keys": [1]}, "error": None},
        "ship": {"status": "failed", "output": None, "error": {"type": "Boom", "message": "no"}},
        "a.b-c#1": {"status": "succeeded", "output": 7},
    },
    "__now__": datetime(2026, 3, 1, 12, tzinfo=UTC),
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def rendered(value: Any, scope: dict[str, Any] = SCOPE) -> Any:
    return compile_template(value).render(scope)


def complaint(value: Any, scope: dict[str, Any] = SCOPE) -> str:
    with pytest.raises(ExpressionError) as caught:
        rendered(value, scope)
    return str(caught.value)


# What a text becomes.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ input.n + 1 }}", 4),
        ("{{ input.nothing }}", None),
        ("{{ input.n > 2 }}", True),
        ("{{ input.n / 2 }}", 1.5),
        ("{{ [1, (2, 3), {'a': none}] }}", [1, [2, 3], {"a": None}]),
        ("{{ range(3) }}", [0, 1, 2]),
        ("{{ input.name }}", "Ada"),
        ("{{input.name}}", "Ada"),
        ("{{\n  input.name\n}}", "Ada"),
    ],
)
def test_a_text_that_is_one_expression_keeps_the_type_of_its_value(text: str, value: object) -> None:
    given_ = rendered(text)
    assert (given_, type(given_)) == (value, type(value))


@given(json_values)
def test_any_json_value_passes_through_an_expression_unchanged(value: Any) -> None:
    given_ = rendered("{{ input }}", {"input": value})
    assert json.dumps(given_) == json.dumps(value)


def test_what_comes_out_shares_no_part_with_the_scope() -> None:
    scope = {"input": {"rows": [[1]]}}
    rendered("{{ input }}", scope)["rows"][0].append(2)
    assert scope == {"input": {"rows": [[1]]}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n={{ input.n }}", "n=3"),
        ("{{ input.n }}{{ input.n }}", "33"),
        (" {{ input.n }}", " 3"),
        ("{{ input.n }}\n", "3\n"),
        ("{{ none }}, {{ true }}, {{ false }}, {{ 1.0 }}", "null, true, false, 1.0"),
        ("{{ ['é', 1] }}!", '["é", 1]!'),
        ("{{ {'a': input.nothing} }}!", '{"a": null}!'),
    ],
)
def test_in_any_other_text_values_stand_as_text_or_json(text: str, value: str) -> None:
    assert rendered(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ '}}' }}", "}}"),
        ("{{ \"a}}b\" ~ '}}' }}", "a}}b}}"),
        (r"{{ 'it\'s }}' }}", "it's }}"),
        ("{{ {'a': {'b': 1}} }}", {"a": {"b": 1}}),
        ("{{ {'a': {'b': 1}}}}", {"a": {"b": 1}}),
        ("{{ {'a': 1}['a'] }}}}", "1}}"),
        ("{{ '{{' }} and }}", "{{ and }}"),
    ],
)
def test_braces_inside_literals_do_not_end_an_expression(text: str, value: object) -> None:
    assert rendered(text) == value


@pytest.mark.parametrize("text", ["{% if x %}", "{# note #}", "{%- set x = 1 -%}", "}}", "{ {", "%}", "# for x in y"])
def test_statements_and_comments_are_plain_text(text: str) -> None:
    template = compile_template(text)
    assert (template.constant, template.render({})) == (True, text)
    assert rendered(f"{text} {{{{ input.n }}}}") == f"{text} 3"


def test_expressions_are_found_at_any_depth_but_not_in_keys() -> None:
    value = {"{{ input.n }}": [{"a": ["{{ input.n }}", 1, "x"]}], "b": None}
    assert rendered(value) == {"{{ input.n }}": [{"a": [3, 1, "x"]}], "b": None}


@pytest.mark.parametrize("value", [None, 1, "text", [], {"a": ["b", {"c": 1.5}]}, ("x",)])
def test_a_value_without_expressions_is_constant_and_given_back_itself(value: object) -> None:
    template = compile_template(value)
    assert template.constant
    assert template.render({}) is value
    assert not template.references.roots


def test_dates_in_the_scope_become_iso_text() -> None:
    scope = {"run": {"created_at": datetime(2026, 3, 1, tzinfo=UTC)}}
    assert rendered("{{ run.created_at }}", scope) == "2026-03-01T00:00:00+00:00"
    assert rendered("on {{ run.created_at }}", scope) == "on 2026-03-01T00:00:00+00:00"


# Looking things up.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ input.items }}", [1, 2]),
        ("{{ input.keys }}", "k"),
        ("{{ input['items'] }}", [1, 2]),
        ("{{ steps.charge.output.keys }}", [1]),
        ("{{ steps['a.b-c#1'].output }}", 7),
        ("{{ input._id }}", 9),
        ("{{ input.rows[0].city }}", "Ulm"),
        ("{{ input.rows[-1]['id'] }}", 3),
        ("{{ input.rows.0.id }}", 1),
        ("{{ input.rows[1:][0].id }}", 2),
        ("{{ input.name[0] }}", "A"),
        ("{{ input.name[::-1] }}", "adA"),
    ],
)
def test_a_part_is_a_key_or_an_element(text: str, value: object) -> None:
    assert rendered(text) == value


def test_maps_have_methods_in_calls_only() -> None:
    scope = {"input": {"items": 1, "a": None}}
    assert rendered("{{ input.items() }}", scope) == [["items", 1], ["a", None]]
    assert rendered("{{ input.keys() }}", scope) == ["items", "a"]
    assert rendered("{{ input.values() }}", scope) == [1, None]
    assert rendered("{{ input.get('b', 2) }}", scope) == 2
    assert "'input.values' is not defined" in complaint("{{ input.values }}", scope)


# What is missing.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "{{ steps.chrage.output }}",
            "'steps.chrage' is not defined; steps here: a.b-c#1, charge, ship (did you mean 'charge'?)",
        ),
        ("{{ inptu.n }}", "'inptu' is not defined; names here: input, steps, vars (did you mean 'input'?)"),
        ("{{ vars.total }}", "'vars.total' is not defined; there are no vars here"),
        ("{{ steps.ship.output.id }}", "'steps.ship.output.id' is not defined: 'steps.ship.output' is null"),
        ("{{ input.rows[7].id }}", "'input.rows[7]' is not defined: 'input.rows' is a list of 3 items"),
        ("{{ input.rows.id }}", "'input.rows.id' is not defined: 'input.rows' is a list of 3 items"),
        ("{{ input.name.first }}", "'input.name.first' is not defined: 'input.name' is text"),
        ("{{ input['no such'] }}", "'input['no such']' is not defined"),
        ("{{ input.rows | map(attribute='town') }}", "'town' is not defined; keys here: city, id"),
        ("{{ null }}", "'null' is not defined; names here: input, steps, vars (nothing is written `none`)"),
        ("{{ self }}", "'self' is not defined"),
        ("{{ input.n if false }}", "its 'if' is false and there is no 'else'"),
        ("{{ [] | first }}", "there is no first item: the list is empty"),
    ],
)
def test_what_is_missing_is_named_with_what_exists(text: str, told: str) -> None:
    assert told in complaint(text)
    assert complaint(text).startswith(f"`{text}`: ")


@pytest.mark.parametrize(
    "use",
    [
        "{}",
        "x{}",
        "[{}]",
        "{{'a': {}}}",
        "{} + 1",
        "1 ~ {}",
        "-({})",
        "not {}",
        "{} and 1",
        "1 if {} else 2",
        "{} == 1",
        "1 in [{}]",
        "{} is none",
        "{} is string",
        "{} | upper",
        "[1] | join({})",
        "{}.x",
        "{}['x']",
        "{}[0:1]",
        "input[{}]",
        "{}.upper()",
        "range({})",
        "'%s' % {}",
        "input.rows | sort(attribute={})",
        "[{}] | sort",
        "[{}] | tojson",
        "[{}] | jmespath('[0].a')",
    ],
)
def test_using_what_is_missing_in_any_way_names_it(use: str) -> None:
    expression = use.format("input.gone").removeprefix("x")
    assert "'input.gone' is not defined" in complaint(f"{{{{ {expression} }}}}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ input.gone is defined }}", False),
        ("{{ input.gone is undefined }}", True),
        ("{{ gone is defined }}", False),
        ("{{ input.n is defined }}", True),
        ("{{ input.gone | default(5) }}", 5),
        ("{{ gone | d('x') }}", "x"),
        ("{{ steps.ship.output.id | default(none) }}", None),
        ("{{ input.nothing | default(5) }}", None),
        ("{{ input.nothing | default(5, true) }}", 5),
        ("{{ input.gone | default(input.gone2) | default(1) }}", 1),
        ("{{ input.rows | map(attribute='town', default='-') | join }}", "---"),
        ("{{ input.rows | selectattr('town', 'defined') }}", []),
        ("{{ true or input.gone }}", True),
        ("{{ 1 if true else input.gone }}", 1),
    ],
)
def test_defined_and_default_work_as_in_jinja(text: str, value: object) -> None:
    assert rendered(text) == value


def test_only_the_last_part_of_a_chain_may_be_missing_for_default() -> None:
    assert "'input.gone' is not defined" in complaint("{{ input.gone.further | default(1) }}")


def test_an_error_says_where_in_the_value_it_is() -> None:
    assert complaint({"a": [1, {"b c": "{{ gone }}"}]}).startswith("at a[1]['b c']: `{{ gone }}`: 'gone'")
    with pytest.raises(ExpressionError, match=r"^at a\[0\]: `\{\{ 1 \+ \}\}`: "):
        compile_template({"a": ["{{ 1 + }}"]})


# What cannot be read.


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ input.n", "has no matching '}}'"),
        ("{{ (input.n }}", "has no matching '}}'"),
        ("{{ 'a }}", "does not end"),
        ("{{ }}", "it is empty"),
        ("{{ 1 + }}", "cannot be read"),
        ("{{ a b }}", "'b' is not expected here"),
        ("{{ 1, 2 }}", "not expected here"),
        ("{{ input.n | uper }}", "there is no filter 'uper' (did you mean 'upper'?)"),
        ("{{ input.n | UPPER }}", "there is no filter 'UPPER' (did you mean 'upper'?)"),
        ("{{ input.n is nmber }}", "there is no test 'nmber' (did you mean 'number'?)"),
        ("{{ rnage(3) }}", "there is no function 'rnage'; functions: dict, fromjson, jmespath, now, range, tojson"),
        ("{{ env('HOME') }}", "there is no function 'env'"),
        ("{{ input['get']('n') }}", "only functions and methods can be called"),
        ("{{ __now__ }}", "names do not begin with '_'"),
        ("{{-1}}", "put a space between the braces and '-'"),
        ("{{ input.n -}}", "put a space between the braces and '-'"),
        ("{{ a := 1 }}", "cannot be read"),
        ("{{ [x for x in y] }}", "cannot be read"),
        ("{{ lambda: 1 }}", "not expected here"),
        (r"{{ '\x4' }}", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_when_compiled(text: str, told: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_template(text)
    assert told in str(caught.value)


# What the language can do.


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("7 // 2 + 7 % 4 - 2 ** 3", -2),
        ("-input.n + +1", -2),
        ("1 < input.n <= 3", True),
        ("3 not in input['items'] and 1 in input['items']", True),
        ("'d' in input.name", True),
        ("'n' in input", True),
        ("[1] + [2]", [1, 2]),
        ("'ab' * 2 ~ 1 ~ none ~ [true]", "abab1null[true]"),
        ("[0] * 3", [0, 0, 0]),
        ("'%05d|%s|%.2f|%%' % (42, 'x', 1)", "00042|x|1.00|%"),
        ("'%(a)s' % {'a': [1]}", "[1]"),
        ("'%s-%s' | format('a', 2)", "a-2"),
        ("input.name.upper().replace('A', 'b').center(5)", " bDb "),
        ("'a,b'.split(',')", ["a", "b"]),
        ("','.join(['a', 'b'])", "a,b"),
        ("'key=value'.partition('=')", ["key", "=", "value"]),
        ("[3, 1] | sort | first", 1),
        ("['b', 'A'] | sort | join(', ')", "A, b"),
        ("['b', 'A'] | sort(case_sensitive=true, reverse=true)", ["b", "A"]),
        ("input.rows | sort(attribute='city,id', reverse=true) | map(attribute='id') | list", [3, 1, 2]),
        ("input.rows | unique(attribute='city') | map(attribute='id')", [1, 2]),
        ("input.rows | groupby('city') | map(attribute='grouper')", ["Bonn", "Ulm"]),
        ("(input.rows | groupby('city'))[1].list | length", 2),
        ("(input.rows | groupby('city'))[1][1] | map(attribute='id')", [1, 3]),
        ("input.rows | map(attribute='id') | sum", 6),
        ("input.rows | sum(attribute='id', start=10)", 16),
        ("[[1], [2]] | sum(start=[])", [1, 2]),
        ("input.rows | min(attribute='id')", {"id": 1, "city": "Ulm"}),
        ("[2, 3] | max", 3),
        ("input.rows | selectattr('id', 'gt', 1) | map(attribute='id')", [2, 3]),
        ("input.rows | rejectattr('city', 'in', ['Ulm', 'ulm']) | map(attribute='id')", [2]),
        ("[1, none, 2] | select('number') | map('string')", ["1", "2"]),
        ("[1, 2, 3] | batch(2, 0)", [[1, 2], [3, 0]]),
        ("[1, 2, 3, 4, 5] | slice(3, 'x')", [[1, 2], [3, 4], [5, "x"]]),
        ("{'b': 1, 'a': 2} | dictsort", [["a", 2], ["b", 1]]),
        ("{'a': 1} | items", [["a", 1]]),
        ("'abc' | reverse", "cba"),
        ("[1, 2] | reverse", [2, 1]),
        ("'1.5' | float + '2' | int", 3.5),
        ("-1.25 | abs | round(1)", 1.2),
        ("'<b>' | e", "&lt;b&gt;"),
        ("'<p>Hi <b>you</b></p>' | striptags | title | replace('H', 'h')", "hi You"),
        ("{'q': 'a b'} | urlencode", "q=a+b"),
        ("'one two three' | truncate(9, leeway=0)", "one..."),
        ("'one two' | wordwrap(3) | indent(1, true)", " one\n two"),
        ("1000000 | filesizeformat", "1.0 MB"),
        ("true | string", "true"),
        ("[1, 'a', none] | join('|')", "1|a|null"),
        ("{'b': '<&>', 'a': [1]} | tojson", '{"b": "<&>", "a": [1]}'),
        ("tojson([1], indent=1)", "[\n 1\n]"),
        ("'[1, {\"a\": null}]' | fromjson", [1, {"a": None}]),
        ("input | jmespath('rows[?id > `1`].city')", ["Bonn", "ulm"]),
        ("jmespath(input, 'gone')", None),
        ("now()", "2026-03-01T12:00:00+00:00"),
        ("dict([['a', 1]], b=2)", {"a": 1, "b": 2}),
        ("dict(**{'a': 1})", {"a": 1}),
        ("range(*[1, 3])", [1, 2]),
        ("3 is odd and 4 is even and 6 is divisibleby(3)", True),
        ("'x' is string and {} is mapping and none is none", True),
        (r"'C:\data\q'", r"C:\data\q"),
        ("'é€😀' | length", 3),
        ("10 ** 10 ** 10 == 10 ** 100", True),
    ],
)
def test_the_language_is_jinjas(source: str, value: object) -> None:
    assert compile_expression(source).evaluate(SCOPE) == value


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("'a' + 1", "'+' does not work between text and a number"),
        ("input - 1", "'-' does not work between a map and a number"),
        ("1 < 'a'", "'<' does not work between a number and text"),
        ("1 in 2", "'in' does not work between a number and a number"),
        ("1 / 0", "division by zero"),
        ("(-8) ** 0.5", "not a number"),
        ("1e308 * 10", "its result is inf"),
        ("{1: 2}", "keys must be text"),
        ("{[1]: 2}", "unhashable"),
        ("5 | first", "'first' takes a list, not a number"),
        ("5 | sort", "it takes a list, not a number"),
        ("'a' | upper(1)", "the filter 'upper' does not take these arguments"),
        ("[1] | join(1, 2, 3, 4)", "the filter 'join' does not take these arguments"),
        ("'x' | fromjson", "not JSON"),
        ("'NaN' | fromjson", "not JSON"),
        ("1 | fromjson", "takes a text, not a number"),
        ("[] | jmespath('[')", "JMESPath query '[' fails"),
        ("[] | jmespath('abs(@)')", "abs() takes number, not array"),
        ("'a'.format(1)", "text has no method 'format' here"),
        ("[1].append(2)", "values cannot be changed"),
        ("input.update(a=1)", "values cannot be changed"),
        ("'a'.uper()", "did you mean 'upper'?"),
        ("5 .bit_length()", "has no method 'bit_length'"),
        ("'%d' % 'x'", "%d format"),
    ],
)
def test_what_does_not_work_is_said_in_words(source: str, told: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source).evaluate(SCOPE)
    assert told in str(caught.value)


def test_now_is_an_error_where_no_time_is_given() -> None:
    assert "now() is not known here" in complaint("{{ now() }}", {})


def test_what_json_cannot_hold_is_refused() -> None:
    assert "its result is a set" in complaint("{{ input }}", {"input": {1}})
    assert "its result is nan" in complaint("{{ input }}", {"input": float("nan")})


# Bare expressions.


@pytest.mark.parametrize("text", ["input.n > 2", "{{ input.n > 2 }}", "  {{input.n > 2}}\n", "input.n >\n2"])
def test_an_expression_may_stand_in_braces_or_not(text: str) -> None:
    assert compile_expression(text).evaluate(SCOPE) is True


@pytest.mark.parametrize(
    "text", ["", "  ", "{{ }}", "{{ 1 }} and {{ 2 }}", "{{ 1 }} and 2", "{{ 1", "1 }}", "{% if x %}", "{# x #}"]
)
def test_what_is_not_one_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_expression(text)


def test_a_bare_expression_may_begin_with_a_sign() -> None:
    assert compile_expression("-1 < 0").evaluate({}) is True
    assert compile_expression("{'a': 1}['a']").evaluate({}) == 1


@pytest.mark.parametrize(
    ("value", "truth"),
    [(None, False), (0, False), (0.0, False), ("", False), ([], False), ({}, False), (False, False)]
    + [(1, True), ("false", True), ("no", True), ("0", True), ([0], True), ({"a": None}, True), (True, True)],
)
def test_truth_is_the_values_own(value: object, truth: bool) -> None:
    assert truthy(value) is truth


def test_the_words_true_and_false_are_booleans() -> None:
    assert compile_expression("false").evaluate({}) is False
    assert compile_expression("True").evaluate({}) is True


# References.


@pytest.mark.parametrize(
    ("text", "steps", "all_steps"),
    [
        ("{{ steps.a.output }}", {"a"}, False),
        ("{{ steps['a.b'].output + steps[\"c d\"]['output'] }}", {"a.b", "c d"}, False),
        ("{{ steps.a.output.items() }}", {"a"}, False),
        ("{{ input[steps.a.output] }}", {"a"}, False),
        ("{{ x | default(steps.a.status) }}", {"a"}, False),
        ("{{ range(steps.a.output) }}", {"a"}, False),
        ("{{ steps.a is defined }}", {"a"}, False),
        ("{{ steps[item] }}", set(), True),
        ("{{ steps['a' ~ 'b'] }}", set(), True),
        ("{{ steps | length }}", set(), True),
        ("{{ steps.items() }}", set(), True),
        ("{{ steps.get('a') }}", set(), True),
        ("{{ steps.a.output ~ (steps | tojson) }}", {"a"}, True),
        ("{{ 'steps.a' }}", set(), False),
        ("{{ input.steps.a }}", set(), False),
    ],
)
def test_the_steps_a_template_reads_are_known(text: str, steps: set[str], all_steps: bool) -> None:
    found = compile_template(text).references
    assert (found.steps, found.all_steps) == (steps, all_steps)


def test_the_references_of_a_template_are_those_of_all_its_texts() -> None:
    found = compile_template({"a": "{{ input.x.y }} {{ vars['z'] }}", "b": ["{{ steps.q.output[0].r }}"]}).references
    assert found.roots == {"input", "vars", "steps"}
    assert found.paths == {("input", "x", "y"), ("vars", "z"), ("steps", "q", "output")}


def test_functions_are_not_names_but_unknown_names_are() -> None:
    found = compile_expression("now() ~ range(1) ~ inptu.x").references
    assert found.roots == {"inptu"}
    assert not found.roots & SCOPE_ROOTS


# Limits, threads.


def test_limits_can_be_set_for_a_rendering() -> None:
    scope = {"input": "x" * 100}
    assert compile_template("{{ input }}").render(scope, Limits(output=102)) == "x" * 100
    with pytest.raises(ExpressionError, match="too large"):
        compile_template("{{ input }}").render(scope, Limits(output=101))
    with pytest.raises(ExpressionError, match="too large"):
        compile_template(["{{ input }}", "{{ input }}"]).render(scope, Limits(output=150))


def test_threads_share_compiled_templates() -> None:
    template = compile_template("{{ input.rows | map(attribute='id') | map('string') | join(input.n ~ '-') }}")
    wrong: list[object] = []

    def work(n: int) -> None:
        scope = {"input": {"n": n, "rows": [{"id": i} for i in range(50)]}}
        expected = f"{n}-".join(map(str, range(50)))
        wrong.extend(given_ for _ in range(50) if (given_ := template.render(scope)) != expected)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
