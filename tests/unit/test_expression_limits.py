"""What a template must not reach or use up: known escapes from Jinja's sandbox, and explosions of work and memory.

The escapes are those published for Jinja and its sandbox: CVE-2014-1402 to CVE-2025-27516 where an expression can
show them, and the attribute walks of collections of template injections.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.tests import TESTS as JINJA_TESTS

from orchestrator.domain.expressions import (
    Limits,
    References,
    compile_expression,
    compile_template,
    read_expression,
    read_template,
)
from orchestrator.domain.sandbox.filters import FILTERS, TESTS
from orchestrator.errors import ExpressionError

TEXT = "x" * 1_000_000
SCOPE: dict[str, Any] = {
    "input": {"text": TEXT, "rows": [{"id": i, "name": f"n{i % 7}"} for i in range(1000)], "map": {"a": 1}},
    "config": {"colour": "red"},
    "steps": {},
    "vars": {},
    "run": {"id": "r"},
}


def render(text: str, scope: dict[str, Any] = SCOPE) -> Any:
    return compile_template(text).render(scope)


ESCAPES = [
    # Attribute walks.
    "''.__class__",
    "''['__class__']",
    "''.__class__.__mro__[1].__subclasses__()",
    "''.__class__.mro()[1].__subclasses__()",
    "[].__class__.__base__.__subclasses__()",
    "{}.__class__.__bases__[0].__subclasses__()[40]",
    "().__class__.__base__",
    "(1).__class__",
    "none.__class__",
    "true.__class__.__base__",
    "(1/2).__class__",
    "range(1).__class__",
    "input.__class__",
    "input['__class__']",
    "input.text.__class__.__init__",
    "input.__init__.__globals__",
    "input.rows.__len__",
    "run.__dict__",
    "config.__class__.__init__.__globals__['os'].popen('id').read()",
    "config.from_object('os')",
    # Jinja's own objects.
    "self",
    "self.__init__.__globals__",
    "self._TemplateReference__context.cycler.__init__.__globals__.os.popen('id').read()",
    "self.__dict__",
    "cycler.__init__.__globals__.os.popen('id').read()",
    "cycler('a')",
    "joiner.__init__.__globals__.os",
    "joiner(',')",
    "namespace.__init__.__globals__.os",
    "namespace(a=1)",
    "lipsum.__globals__['os'].popen('id').read()",
    "lipsum()",
    "lipsum | attr('__globals__')",
    "dict.__base__.__subclasses__()",
    "range.__init__",
    "loop",
    "super()",
    "caller()",
    "varargs",
    "kwargs",
    "context",
    "environment",
    "environment.globals",
    "_context",
    "__builtins__",
    "missing",
    "undefined",
    # Undefined values.
    "gone.__class__",
    "gone.__init__.__globals__",
    "(gone | default(x)).__class__",
    "gone._fail_with_undefined_error()",
    "gone._undefined_exception",
    # Frameworks' names.
    "request.application.__globals__.__builtins__.__import__('os').popen('id').read()",
    "request | attr('application')",
    "get_flashed_messages.__globals__.__builtins__.open('/etc/passwd').read()",
    "url_for.__globals__",
    "g.pop.__globals__",
    # Filters that look up attributes.
    "'' | attr('__class__')",
    "'' | attr('\\x5f\\x5fclass\\x5f\\x5f')",
    "['']|map(attribute='__class__')|list",
    "['']|map('attr','__class__')|list",
    "[{}]|map(attribute='__class__.__mro__')|list",
    "[[]]|map(attribute='append')|list",
    "[{}]|selectattr('__class__')|map(attribute='x')|first",
    "['']|groupby('__class__')",
    "['']|sort(attribute='__class__')",
    "['']|unique(attribute='__class__')|list",
    "['']|sum(attribute='__class__')",
    "['']|join(attribute='__class__')",
    "['']|max(attribute='__class__')",
    "['']|map('__class__')",
    "['']|map('__init__')",
    # str.format, CVE-2016-10745, CVE-2019-10906, CVE-2024-56326, CVE-2025-27516.
    "'{0.__class__}'.format(1)",
    "'{0.__class__.__init__.__globals__}'.format(input)",
    "'{a.__class__}'.format_map({'a': 1})",
    "''.format",
    "''['format']",
    "('{0.__class__}' | attr('format'))(1)",
    "['{0.__class__}'] | map('format', 1) | first | attr('x')",
    "['{0.__class__}'.format] | first",
    "('%(a)s' % {'a': 1}).__class__",
    "'%c%c' % (95, 95) | attr('x')",
    "'{:>1000000000}'.format(1)",
    # Methods, mutation, and what gives objects that are not JSON.
    "'a'.encode()",
    "'a'.translate({})",
    "'a'.maketrans('a', 'b')",
    "'a'.expandtabs(1000000000)",
    "[1].append(2)",
    "[1].sort()",
    "[1].copy()",
    "input.clear()",
    "input.pop('map')",
    "input.update({'a': 1})",
    "input.setdefault('a', 1)",
    "input.map.popitem()",
    "input.map.fromkeys([1])",
    "(1).to_bytes(10**9, 'big')",
    "(1.5).hex()",
    "(1.5).as_integer_ratio()",
    "range(3).index(1).real",
    # Calling what is not a function.
    "''()",
    "[''][0]()",
    "input.map()",
    "(now)()",
    "range",
    "now",
    "dict",
    "open('/etc/passwd')",
    "eval('1')",
    "exec('1')",
    "__import__('os')",
    "getattr('', '__class__')",
    "type('')",
    "vars('')",
    "globals()",
    "env.HOME",
    "env('HOME')",
    # jmespath.
    "jmespath('', '__class__')",
    "jmespath(input, '__class__.__init__')",
    "jmespath(input, 'keys(@)[0].__class__') ~ gone",
    # Statements inside expressions.
    "% set x = 1 %",
    "x = 1",
    "(yield 1)",
    "1 if true else import os",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_an_escape_reaches_nothing(source: str) -> None:
    before = json.dumps(SCOPE)
    try:
        given_ = render(f"{{{{ {source} }}}}")
    except ExpressionError:
        given_ = None
    # JMESPath gives null for a key that is not there, `selectattr` nothing for a test that fails.
    assert given_ is None
    assert json.dumps(SCOPE) == before


def test_most_escapes_are_errors() -> None:
    quiet = [source for source in ESCAPES if not _fails(source)]
    assert quiet == ["jmespath('', '__class__')", "jmespath(input, '__class__.__init__')"]


def _fails(source: str) -> bool:
    try:
        render(f"{{{{ {source} }}}}")
    except ExpressionError:
        return True
    return False


_DEEP = "[[[[[[1]*99]*99]*99]*99]*99]*99"
_TWICE = "|".join(["[@,@]"] * 40)

EXPLOSIONS = [
    # Lists.
    "range(10**9) | list",
    "range(100001)",
    "range(-10**30, 10**30, 1)",
    "range(0, 10**300, 10**299)",
    "(range(10**5) | list) * 10**5",
    "[0] * 10**9",
    "10**9 * [0]",
    "[" + ", ".join(["range(100000)"] * 50) + "]",
    "[range(1000)] * 1000 * 100",
    "([range(1000)] * 1000) | sum(start=[]) | length",
    "[1] | batch(10**9, 0)",
    "[1] | slice(10**9, 0)",
    "range(100000) | map('batch', 100000, 0) | list",
    "([range(100000)] * 100000) | map('list') | list",
    "input.text | list | length",
    "input.text.split('x') | length",
    "range(100000) | sort(attribute='a,' * 100000)",
    "range(100000) | map(attribute='a.' * 100000, default={'a': 1})",
    # Texts.
    "'x' * 10**9",
    "10**9 * 'x'",
    "input.text * 2",
    "input.text + input.text",
    "input.text ~ input.text",
    "'x'.ljust(10**9)",
    "'x'.rjust(10**9)",
    "'x'.center(10**9)",
    "'1'.zfill(10**9)",
    "'x' | center(10**9)",
    "'x\\ny' | indent(10**9)",
    "'x\\ny' | indent(input.text)",
    "('x\\n' * 10000) | indent(1000)",
    "'a b' | wordwrap(1, true, input.text)",
    "input.text | wordwrap(1)",
    "(input.text | replace('x', '<!---->')) | striptags",
    "('<!---->' * 100000) | striptags",
    "'x' | replace('', input.text)",
    "input.text | replace('x', 'yy')",
    "input.text.replace('', 'y')",
    "[input.text] * 1000 | join",
    "(([input.text] * 1000) | join)",
    "range(100000) | join(input.text)",
    "input.text.join(['a', 'b', 'c'])",
    "range(100000) | map('center', 1000000) | list",
    "range(100000) | map('string') | map('replace', '', input.text) | list",
    "range(100000) | map('string') | select('in', input.text) | list",
    "input.text | e | replace('x', '<') | e | e | e",
    "input.text | reverse | tojson | tojson | tojson ~ 'x' * 200000",
    "(input.rows * 20) | tojson(indent=8)",
    "[[]] | tojson(indent=10**9)",
    # Formats.
    "'%0999999999d' % 1",
    "'%.999999999f' % 1",
    "'%999999999s' % 'x'",
    "'%*d' % (999999999, 1)",
    "'%.*f' % (999999999, 1)",
    "'%(a(b))999999999d' % {'a(b)': 1}",
    "('%1000d' * 2000) % range(2000)",
    "('%(a)s' * 1000) % {'a': input.text}",
    "'%0999999999d' | format(1)",
    "['%0999999999d'] | map('format', 1) | list",
    "'%0999999999d' is odd",
    "'%0999999999d' is even",
    "'%0999999999d' is divisibleby(1)",
    "['%0999999999d'] | select('odd') | list",
    # Numbers.
    "10 ** 10 ** 10 ** 10 ** 10",
    "9 ** (9 ** 9)",
    "(-9) ** (9 ** 9)",
    "2 ** 14001",
    "(2 ** 13999) * (2 ** 13999)",
    "(10 ** 4000) ** 1000",
    "'x' | round(9, 'ceil')",
    "1.5 | round(10**9, 'ceil')",
    "5 | round(-(10**9))",
    "('f' * 1000000) | int(0, 16)",
    "1 << 10**10",
    # JSON and JMESPath.
    "('[' * 100000) | fromjson",
    "('[' * 100000 + ']' * 100000) | fromjson",
    "('9' * 5000) | fromjson",
    "[1] | jmespath('[' * 4000)",
    "[1] | jmespath('a' * 5000)",
    # Depth.
    "(" * 100 + "1" + ")" * 100,
    "(" * 10000 + "1" + ")" * 10000,
    "[" * 200 + "]" * 200,
    "{'a': " * 100 + "1" + "}" * 100,
    "- " * 10000 + "1",
    "not " * 8000 + "1",
    "1" + " + 1" * 8000,
    "1" + " and 1" * 5000,
    "1" + " if 1 else 1" * 2500,
    "1" + " | abs" * 4000,
    "1" + " ** 1" * 5000,
    "input" + ".a" * 10000,
    "input" + "[0]" * 10000,
    "1" * 4400,
    "1" + " " * 40000,
    "'" + "x" * 40000 + "'",
]

# Each is small and stands for something endless: parts that are found in it many times over.
ENDLESS = [
    _DEEP,
    f"({_DEEP}) == ({_DEEP})",
    f"({_DEEP}) | string",
    f"({_DEEP}) | tojson",
    f"({_DEEP}) ~ ''",
    f"1 in ({_DEEP})",
    f"({_DEEP}) | sort",
    f"({_DEEP}) | map('tojson') | list",
    f"[({_DEEP})] | unique",
    f"({_DEEP}).index(1)",
    f"'%s' % ({_DEEP})",
    f"({_DEEP}) | urlencode",
    "([range(100000)] * 100000) | map('sort') | list",
    "([range(100000)] * 100000) | map('sum') | list",
    "([range(100000)] * 1000) | map('map', 'string') | list",
    f"[1] | jmespath('{_TWICE}')",
    f"[1] | jmespath('{_TWICE}|to_string(@)')",
    f"[1] | jmespath('{_TWICE}|contains(@, `1`)')",
    f"[1] | jmespath('[{_TWICE} == {_TWICE}]')",
    f"[1, 2] | jmespath('sort_by(@, &({_TWICE}))')",
    f"[1, 2] | jmespath('map(&({_TWICE}), @)')",
    "[1] | jmespath('" + "|".join(["[@,@][]"] * 40) + "|length(@)')",
    "[input.text] | jmespath('" + "|".join(['[join(`""`, [@[0], @[0]])]'] * 10) + "')",
]


@pytest.mark.parametrize("source", EXPLOSIONS, ids=lambda source: source[:60])
def test_an_explosion_is_an_error_in_bounded_memory(source: str) -> None:
    assert _peak_of_a_failure(source, Limits()) < 96 << 20


@pytest.mark.parametrize("source", ENDLESS, ids=lambda source: source[:60])
def test_what_is_endless_in_itself_is_an_error_in_memory_of_the_size_of_the_work(source: str) -> None:
    assert _peak_of_a_failure(source, Limits(work=4 << 20, output=1 << 17)) < 24 << 20


def _peak_of_a_failure(source: str, limits: Limits) -> int:
    """Bytes in use at the most while the expression fails."""
    tracemalloc.start()
    try:
        with pytest.raises(ExpressionError):
            compile_template(f"{{{{ {source} }}}}").render(SCOPE, limits)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_is_endless_ends_within_the_default_limits() -> None:
    with pytest.raises(ExpressionError, match="too much work|too long"):
        render(f"{{{{ ({_DEEP}) == ({_DEEP}) }}}}")


def test_many_expressions_in_one_text_are_refused() -> None:
    with pytest.raises(ExpressionError, match="at most 1000 expressions"):
        compile_template("{{ 1 }}" * 1001)
    assert render("{{ 1 }}" * 1000) == "1" * 1000


@pytest.mark.parametrize("text", ["{{" * 100_000, "{{ '" + "\\'" * 100_000, "{{ " + "'a' " * 100_000, "{{ (" * 50_000])
def test_a_long_text_that_never_ends_its_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_template(text)


def test_a_template_nested_without_end_is_refused() -> None:
    value: Any = "{{ 1 }}"
    for _ in range(10_000):
        value = [value]
    with pytest.raises(ExpressionError, match="nested at most 200"):
        compile_template(value)


def test_a_scope_nested_without_end_is_refused() -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    for source in ("input", "input | tojson", "input == [input]", "[input] | sort", "input | string", "input ~ ''"):
        with pytest.raises(ExpressionError):
            compile_expression(f"[({source})]").evaluate({"input": value})


def test_time_is_bounded_when_work_is_not() -> None:
    endless = Limits(work=1 << 62, seconds=0.05)
    with pytest.raises(ExpressionError, match="takes too long"):
        compile_expression(f"({_DEEP}) == ({_DEEP})").evaluate({}, endless)


def test_error_messages_are_short_whatever_the_template() -> None:
    for text in ("{{ " + "x" * 30_000 + " }}", "{{ input['" + "y" * 30_000 + "'] }}", "{{ 1 | " + "z" * 30_000 + " }}"):
        with pytest.raises(ExpressionError) as caught:
            render(text)
        assert len(str(caught.value)) < 1000


def test_error_messages_can_be_stored() -> None:
    with pytest.raises(ExpressionError) as caught:
        render(r"{{ fromjson('\ud800\0') ~ input['\ud800\0'] }}")
    str(caught.value).encode()
    assert "\0" not in str(caught.value)


def test_ordinary_work_on_a_hundred_thousand_items_is_within_the_limits() -> None:
    rows = [{"id": i, "name": f"n{i % 7}"} for i in range(100_000)]
    scope = {"input": rows}
    assert render("{{ input | map(attribute='id') | sum }}", scope) == sum(range(100_000))
    assert render("{{ input | selectattr('name', 'eq', 'n3') | list | length }}", scope) == 14_286
    assert render("{{ (input | sort(attribute='id', reverse=true))[0].id }}", scope) == 99_999


def test_every_filter_and_test_of_jinjas_is_here_or_left_out_on_purpose() -> None:
    assert set(JINJA_FILTERS) - set(FILTERS) == {"attr", "pprint", "safe", "urlize", "xmlattr"}
    assert set(JINJA_TESTS) - set(TESTS) == {"callable", "escaped"}


# Anything at all.

_ATOMS = st.sampled_from(
    ["1", "0", "-1.5", "10**6", "'a'", "'%d'", "'<b>'", "''", "none", "true", "[]", "{}", "[1, 'b']", "{'a': [1]}"]
    + ["input", "input.text", "input.rows", "input.map", "gone", "input.gone", "range(9)", "now()", "steps", "index"]
)
_FILTERS = st.sampled_from(sorted(FILTERS))
_TESTS = st.sampled_from(sorted(name for name in TESTS if name.isalpha()))
_OPERATORS = st.sampled_from(
    ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "and", "or", "not in"]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arguments = st.lists(inner, max_size=3).map(", ".join)
    return st.one_of(
        st.tuples(inner, _OPERATORS, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, _FILTERS, arguments).map(lambda t: f"({t[0]} | {t[1]}({t[2]}))"),
        st.tuples(inner, _FILTERS).map(lambda t: f"([{t[0]}] | map('{t[1]}') | list)"),
        st.tuples(inner, _TESTS, arguments).map(lambda t: f"({t[0]} is {t[1]}({t[2]}))"),
        st.tuples(inner, st.sampled_from(["a", "items", "__class__", "0"])).map(lambda t: f"{t[0]}.{t[1]}"),
        st.tuples(inner, st.sampled_from(["get", "upper", "join", "split", "count", "center"]), arguments).map(
            lambda t: f"{t[0]}.{t[1]}({t[2]})"
        ),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"{{{t[0]}: {t[1]}}}"),
        st.tuples(st.sampled_from(["range", "dict", "tojson", "fromjson", "jmespath"]), arguments).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"(not {t})"),
    )


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(st.recursive(_ATOMS, _larger, max_leaves=8))
@example("([input.text] | map('wordwrap') | list)")
def test_any_expression_gives_json_or_an_expression_error(source: str) -> None:
    try:
        value = compile_expression(source).evaluate(SCOPE)
    except ExpressionError:
        return
    assert json.loads(json.dumps(value, allow_nan=False)) == value


@settings(deadline=None)
@given(st.text() | st.text("{}%#'\"\\()[]|.,:~- \nabcin0123456789"))
@example("{{ x")
@example("{{ '\\")
def test_any_text_compiles_or_is_an_expression_error(text: str) -> None:
    for candidate in (text, f"{{{{{text}}}}}", f"{text}{{{{ {text} }}}}"):
        try:
            compile_template(candidate).render(SCOPE)
        except ExpressionError:
            continue


def outcome_of(read: Callable[[], References]) -> References | str:
    try:
        return read()
    except ExpressionError as error:
        return str(error)


@settings(deadline=None)
@given(st.recursive(_ATOMS, _larger, max_leaves=4) | st.text("{}%#'\"\\()[]|.,:~- \nabcin0123456789"))
def test_reading_finds_and_refuses_what_compiling_does(text: str) -> None:
    assert outcome_of(lambda: read_expression(text)) == outcome_of(lambda: compile_expression(text).references)
    for candidate in (text, f"{{{{{text}}}}}", f"{text}{{{{ {text} }}}}"):
        compiled = outcome_of(lambda candidate=candidate: compile_template(candidate).references)
        assert outcome_of(lambda candidate=candidate: read_template(candidate)) == compiled
