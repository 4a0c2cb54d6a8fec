"""Expressions of YAQL and Jinja in our words."""

from __future__ import annotations

import pytest

from orchestrator.convert.marks import parts
from orchestrator.convert.report import Report
from orchestrator.convert.scope import End, Scope
from orchestrator.convert.syntax import Const, Name, Part
from orchestrator.convert.templates import Templates
from orchestrator.domain.expressions import compile_template

SCOPE = Scope(
    variables={"a": Part(Name("input"), Const("a")), "b c": Part(Name("vars"), Const("b c"))},
    tasks=frozenset({"t1", "t2"}),
    many=frozenset({"t2"}),
    task="t1",
    end=End.SUCCESS,
)

CARRIED = {
    "<% ctx().a %>": "{{ input.a }}",
    "<% ctx(a) %>": "{{ input.a }}",
    "<% ctx('b c') %>": "{{ vars['b c'] }}",
    "<% $.a %>": "{{ input.a }}",
    "{{ ctx().a }}": "{{ input.a }}",
    "{{ ctx()['b c'] }}": "{{ vars['b c'] }}",
    "x <% ctx().a %> y {{ ctx().a }}": "x {{ input.a }} y {{ input.a }}",
    "<% result().x[0] %>": "{{ result.x[0] }}",
    "<% task(t2).result.x %>": "{{ steps.t2.output.x }}",
    "<% task().result.x %>": "{{ result.x }}",
    "<% ctx().a = 1 and not ctx().a in list(x, 'y', 2) %>": "{{ input.a == 1 and not input.a in ['x', 'y', 2] }}",
    "<% (ctx().a + 1) * 2 - -1 %>": "{{ (input.a + 1) * 2 - -1 }}",
    "<% ctx().a - (1 - 2) %>": "{{ input.a - (1 - 2) }}",
    "<% not (ctx().a or false) %>": "{{ not (input.a or false) }}",
    "<% len(ctx().a) > 0 %>": "{{ input.a | length > 0 }}",
    "<% ctx().a.toUpper().len() %>": "{{ input.a | upper | length }}",
    "<% ctx().a.containsKey(k) %>": None,
    "<% ctx().a.containsKey('k') %>": "{{ 'k' in input.a }}",
    "<% ctx().a.get('k', 1) %>": "{{ input.a.get('k', 1) }}",
    "<% dict(x => ctx().a, 'y' => 2) %>": None,
    "<% dict('y' => 2) %>": "{{ {'y': 2} }}",
    "<% ','.join(ctx().a) %>": "{{ input.a | join(',') }}",
    "<% ctx().a.first().x %>": "{{ (input.a | first).x }}",
    "<% ctx().a.select($.x.y) %>": "{{ jmespath(input.a, '[*].x.y') }}",
    "<% ctx().a.select($ + 1) %>": None,
    "<% task(t2).result.items.select($.result.x) %>": "{{ jmespath(steps.t2.output, '[*].x') }}",
    "<% coalesce(ctx().a, 'none') %>": "{{ input.a if input.a is not none else 'none' }}",
    "<% json_parse(ctx().a) %>": "{{ fromjson(input.a) }}",
    "<% ctx().nobody %>": None,
    "<% random(1) %>": None,
    "<% task(t9).result %>": None,
    "<% ctx().a + %>": None,
    "{{ ctx().a | from_json_string | length }}": "{{ fromjson(input.a) | length }}",
    "{{ ctx().a | default('x', true) }}": "{{ input.a | default('x', true) }}",
    "{{ ctx().a is defined and ctx().a is not none }}": "{{ input.a is defined and input.a is not none }}",
    "{{ 'yes' if ctx().a else 'no' }}": "{{ 'yes' if input.a else 'no' }}",
    "{{ ctx().a ~ '}}' }}": "{{ input.a ~ '}}' }}",
    "{{ ctx().a | no_such_filter }}": None,
    "{{ it's }} open {{": None,
    "nothing <% here": "nothing <% here",
    "{{ '{{' }} stays": "{{ '{{' }} stays",
}


@pytest.mark.parametrize("text", CARRIED)
def test_an_expression_is_carried_over_or_told_of(text: str) -> None:
    report = Report()
    made = Templates(report, SCOPE, "t1").text(text, ("here",))
    compile_template(made)  # whatever it was, what is made is valid
    assert (made if not report.findings else None) == CARRIED[text]


@pytest.mark.parametrize("text", [text for text, carried in CARRIED.items() if carried is None])
def test_what_has_no_equal_fails_when_it_is_reached_and_says_what_it_was(text: str) -> None:
    report = Report()
    made = Templates(report, SCOPE, "t1").text(text, ("here",))
    [finding] = report.findings
    assert (finding.path, finding.step, finding.kind) == ("here", "t1", "lost")
    assert "config['not carried over: " in made


def test_what_failed_has_an_error_and_no_result() -> None:
    report = Report()
    templates = Templates(report, Scope(task="t1", end=End.FAILURE))
    assert templates.text("<% result() %>", ("x",)) == "{{ error }}"
    assert "not carried over" in templates.text("<% result().stderr %>", ("x",))


@pytest.mark.parametrize("text", ["<%" * 20_000, "{{ '" * 20_000, "{{" + "(" * 20_000, "<% '" + "a'b" * 20_000])
def test_a_text_of_open_brackets_takes_no_time_worth_telling(text: str) -> None:
    report = Report()
    compile_template(Templates(report, SCOPE).text(text[:40_000], ("x",))[:1000].replace("{{", ""))
    assert "".join(part if isinstance(part, str) else part.text for part in parts(text)) == text
