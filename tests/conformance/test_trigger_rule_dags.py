"""Graphs with mixed trigger rules end as in Airflow."""

from __future__ import annotations

import pytest

from orchestrator import testing
from tests.conformance.cases import Case, rule_dags
from tests.scripted import Script

CASES = rule_dags()
ORDERS = {"first": lambda waiting: 0, "last": lambda waiting: waiting - 1}


def test_all_cases_are_here() -> None:
    assert len({case.id for case in CASES}) == 178


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_step_ends_as_in_airflow_whichever_goes_first(case: Case) -> None:
    for order, pick in ORDERS.items():
        result = testing.run(case.document, None, Script(case.outcomes).functions, pick=pick)
        assert {s.name: s.status for s in result.steps.values()} == case.ends, order
        failed = any(end == "failed" for end in case.ends.values())
        assert result.status == ("failed" if failed else "succeeded"), order
