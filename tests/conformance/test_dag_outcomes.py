"""Graphs from the tests of Orquesta and Mistral end as they do there."""

from __future__ import annotations

import pytest

from orchestrator import testing
from tests.conformance.cases import Case, dag_outcomes, not_run
from tests.scripted import Script

CASES = dag_outcomes()
ORDERS = {"first": lambda waiting: 0, "last": lambda waiting: waiting - 1}


def test_all_cases_are_here() -> None:
    assert len({case.id for case in CASES}) == 173


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_it_ends_as_it_does_there_whichever_step_goes_first(case: Case) -> None:
    for order, pick in ORDERS.items():
        result = testing.run(case.document, None, Script(case.outcomes).functions, pick=pick)
        steps = result.steps.values()
        ends = {s.name: "not_run" if not_run(s.status, s.reason) else s.status for s in steps}
        assert (result.status, ends) == (case.run, dict(case.ends)), order
