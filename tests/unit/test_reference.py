"""The reference that other tests trust ends the graphs of other engines as those do."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.airflow_rules import rule_verdict
from tests.conformance.cases import Case, dag_outcomes, load, not_run, rule_dags
from tests.reference import Reference


def ended(case: Case, *, eager: bool, seed: int) -> Reference:
    """The case with its steps run in a random order."""
    chance = random.Random(seed)
    reference = Reference(case.document, case.outcomes, eager=eager)
    while reference.runnable:
        reference.attempt(chance.choice(sorted(reference.runnable)))
    return reference


@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
def test_it_agrees_with_orquesta_and_mistral_in_any_order(eager: bool) -> None:
    for case in dag_outcomes():
        for seed in range(3):
            found = ended(case, eager=eager, seed=seed)
            ends = {n: "not_run" if not_run(s, found.reason[n]) else s for n, s in found.status.items()}
            assert (found.run, ends) == (case.run, dict(case.ends)), case.id


@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
def test_it_agrees_with_airflow_in_any_order(eager: bool) -> None:
    for case in rule_dags():
        for seed in range(3):
            assert ended(case, eager=eager, seed=seed).status == case.ends, case.id


def test_its_table_of_trigger_rules_is_airflows() -> None:
    for case in load("trigger_rules.json"):
        ends = [{"success": "succeeded"}.get(end, end) for end in case["sources"]]
        assert rule_verdict(case["rule"], ends).status == case["decision"], case["id"]


def test_it_refuses_an_order_in_which_a_step_ran_too_early() -> None:
    document: dict[str, Any] = {
        "name": "w",
        "steps": [{"name": "a", "function": "f"}, {"name": "b", "function": "f", "depends_on": ["a"]}],
    }
    with pytest.raises(AssertionError, match="b ran while it was pending"):
        Reference(document, {}).attempt("b")
