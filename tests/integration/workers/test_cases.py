"""A sample of the cases from other engines, through real workers and a real broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.store import outcomes
from tests.conformance.cases import Case, dag_outcomes, not_run, rule_dags
from tests.integration.workers.fleet import Fleet

SCRIPTED = "tests.integration.workers.scripted_steps"


def _document(case: Case) -> dict[str, Any]:
    """The case's document with each step's script in its input."""
    steps = [
        {**step, "function": "case.attempt", "input": {"does": list(case.outcomes.get(step["name"]) or ["succeeded"])}}
        for step in case.document["steps"]
    ]
    return {**case.document, "steps": steps}


def _wrong(case: Case, status: str, steps: Mapping[str, Mapping[str, Any]]) -> list[str]:
    wrong = [f"{case.id}: the run {status}"] if case.run not in (None, status) else []
    for name, end in case.ends.items():
        step = steps[name]
        is_right = not_run(step["status"], step["reason"]) if end == "not_run" else step["status"] == end
        if not is_right:
            wrong.append(f"{case.id}: {name} is {step['status']}, not {end}")
    return wrong


def test_a_sample_of_forty_cases_ends_as_in_their_engines(fleet: Fleet) -> None:
    fleet.worker(FUNCTIONS=SCRIPTED)
    fleet.beat(FUNCTIONS=SCRIPTED)
    cases = dag_outcomes()[::9][:20] + rule_dags()[::9][:20]
    assert len(cases) == 40
    run_ids = []
    for case in cases:
        registered = register(fleet.engine, _document(case))
        run_ids.append(start(fleet.engine, registered.workflow).run_id)
    wrong = []
    for case, run_id in zip(cases, run_ids, strict=True):
        status = fleet.ended(run_id, 120)["status"]
        with fleet.engine.db.transaction() as conn:
            steps = {step["name"]: step for step in outcomes.load_steps(conn, run_id)}
        wrong += _wrong(case, status, steps)
    assert wrong == []
