"""Workflows of other engines, imported, end as they end there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from orchestrator import testing
from orchestrator.context import AttemptContext
from orchestrator.convert.bring import bring
from orchestrator.convert.guess import Engine
from orchestrator.convert.report import Imported
from orchestrator.domain.load import load_text
from orchestrator.domain.parse import parse
from tests.conformance.cases import dag_case, load, not_run, rule_dags
from tests.conformance.orquesta import orquesta_document
from tests.scripted import FUNCTION, Script
from tests.support import soaked

_CASES = load("dag_outcomes.json")
CASES = _CASES[:: soaked(4, 1)]


def imported(document: Mapping[str, Any], engine: Engine) -> Imported:
    [brought] = bring([("case.yaml", json.dumps(document))], engine)
    assert brought.problems == ()
    [workflow] = brought.workflows
    assert load_text(workflow.text) == workflow.document
    return workflow


def test_nothing_is_lost_of_graphs_of_orquesta_but_a_second_run_of_a_task() -> None:
    lost = {
        case["id"]: [f.message for f in made.findings if f.kind == "lost"]
        for case in CASES
        if (made := imported(orquesta_document(case), Engine.ORQUESTA)).lost
    }
    once = "there it runs once for each way that leads to it; here once, when the first of them is gone"
    assert all(told == [once] for told in lost.values())
    assert set(lost) <= {"mistral/direct_workflow/test_triggered_by"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_an_imported_graph_of_orquesta_ends_as_it_does_there(case: dict[str, Any]) -> None:
    expected = dag_case(case)
    made = imported(orquesta_document(case), Engine.ORQUESTA)
    result = testing.run(made.document, None, Script(expected.outcomes).functions)
    ends = {s.name: "not_run" if not_run(s.status, s.reason) else s.status for s in result.steps.values()}
    fails = {name for name in ends if name.endswith("_fail")}  # what the engine's command `fail` is here
    commands = {step["name"] for step in case["steps"] if "command" in step}
    assert result.status == expected.run
    assert {n: e for n, e in ends.items() if n not in fails} == {
        n: e for n, e in expected.ends.items() if n not in commands
    }
    assert any(ends[name] == "failed" for name in fails) <= any(expected.ends.get(n) == "failed" for n in commands)


def test_every_graph_of_airflows_rules_is_imported_as_the_document_that_is_known_to_end_as_there() -> None:
    """`test_trigger_rule_dags.py` runs those."""
    cases = list(zip(load("trigger_rule_dags.json"), rule_dags(), strict=True))
    for raw, case in cases[:: soaked(3, 1)]:
        tasks = [
            {"task_id": s["name"], "operator": FUNCTION, "upstream": s.get("after", []), "trigger_rule": s["rule"]}
            for s in raw["steps"]
        ]
        made = parse(imported({"dag_id": raw["id"], "tasks": tasks}, Engine.AIRFLOW).document)
        known = parse(case.document)
        assert [replace(step, function=FUNCTION) for step in made.steps] == [
            replace(
                step,
                trigger_rule=None
                if str(step.trigger_rule) == "all_success" or not step.depends_on
                else step.trigger_rule,
            )
            for step in known.steps
        ]


GREETING = """
version: 1.0
input: [name, {loud: false}]
vars: [{said: null}, {n: 0}]
tasks:
  hello:
    action: say text=<% ctx().name %>
    retry: {count: 2, delay: 60}
    next:
      - when: <% succeeded() and ctx().loud %>
        publish: said=<% result().toUpper() %>
        do: each
      - when: <% succeeded() and not ctx().loud %>
        publish: [{n: 1}, {said: "<% result() %> <% ctx().n %>"}]
        do: each
  each:
    with: w in <% list(x, y) %>
    action: say text="<% item(w) %>, <% ctx(said) %>"
    next:
      - when: <% succeeded() and len(result()) = 2 %>
        do: bad
  bad:
    action: boom
    next:
      - when: <% failed() %>
        publish: why=<% result().message %>
        do: noop
output:
  - said: <% task(each).result %>
  - why: <% ctx().why %>
"""


@pytest.mark.parametrize(("loud", "said"), [(True, "ADA"), (False, "Ada 1")])
def test_variables_items_and_failures_of_orquesta_go_the_way_they_go_there(loud: bool, said: str) -> None:
    [brought] = bring([("greeting.yaml", GREETING)])
    [workflow] = brought.workflows
    assert not workflow.lost

    def say(text: str, ctx: AttemptContext) -> str:
        if ctx.attempt == 1 and ctx.step == "hello":
            raise ConnectionError
        return text

    result = testing.run(workflow.document, {"name": "Ada", "loud": loud}, {"say": say, "boom": lambda: 1 // 0})
    assert result.status == "succeeded"
    assert result.output == {"said": [f"x, {said}", f"y, {said}"], "why": "integer division or modulo by zero"}


DAG = """
from airflow.sdk import dag, task

@dag(schedule=None)
def numbers(first: int = 1):
    @task
    def count(n): ...
    @task.branch
    def choose(many): ...
    @task
    def few(x): ...
    many = count(first)
    few.expand(x=many) << choose(many)
    choose(many) >> EmptyOperator(task_id="none")
"""


def test_a_python_file_of_airflow_runs_as_a_workflow() -> None:
    [brought] = bring([("numbers.py", DAG)])
    [workflow] = brought.workflows
    assert [str(finding) for finding in workflow.findings if finding.kind == "lost"] == []
    functions = {
        "count": lambda n: list(range(n)),
        "choose": lambda many: "few" if many else None,
        "few": lambda x: x * 2,
    }
    result = testing.run(workflow.document, {"first": 3}, functions)
    assert (result.steps["few"].output, result.steps["none"].status) == ([0, 2, 4], "skipped")
    assert testing.run(workflow.document, {"first": 0}, functions).steps["few"].reason == "condition"
