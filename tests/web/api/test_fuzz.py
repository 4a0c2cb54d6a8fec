"""Schemathesis over the whole document: no answer is a fault of ours, and each is as documented."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from orchestrator.domain.roles import Role
from tests.documents import step
from tests.support import is_soak, soaked
from tests.web.api.conftest import Api

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
HUNT = settings(
    max_examples=soaked(4, 300),
    deadline=None,
    database=None,
    derandomize=not is_soak(),
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
MODES = {GenerationMode.POSITIVE: [], GenerationMode.NEGATIVE: [negative_data_rejection]}


@pytest.mark.timeout(soaked(600, 7200))
def test_whatever_is_sent_is_answered_as_documented(api: Api) -> None:
    api.register(step("a"), name="0")
    run_id = api.start("0")
    api.work()
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", api.checked.app)
    headers = {"Authorization": f"Bearer {api.tokens[Role.ADMIN]}"}
    faults = []
    for found in schema.get_all_operations():
        faults += _hunt(found.ok(), headers, run_id)
    assert not faults, "\n\n".join(faults)


def _hunt(operation: Any, headers: dict[str, str], run_id: str) -> list[str]:
    """What is wrong with one route's answers: to what it may be sent, and to what not; half of the time for a run that
    is there."""
    faults = []
    for mode, more in MODES.items():
        try:
            _ask(operation, mode, headers, run_id, [*CHECKS, *more])
        except (AssertionError, FailureGroup) as error:
            faults.append(
                f"{operation.label}, {mode.value}: {[str(each) for each in getattr(error, 'exceptions', [error])]}"
            )
    return faults


def _ask(operation: Any, mode: GenerationMode, headers: dict[str, str], run_id: str, checks: list[Any]) -> None:
    @HUNT
    @given(case=operation.as_strategy(generation_mode=mode), there=st.booleans())
    def ask(case: Any, there: bool) -> None:
        if {".", ".."} & set((case.path_parameters or {}).values()):
            return  # clients take these out of addresses
        if any(value in ([], {}, None) for value in (case.query or {}).values()):
            return  # what is wrong with it is not sent
        streams = case.operation.path.endswith("/stream")  # of a run that goes on, it would not end
        if "run_id" in (case.path_parameters or {}) and (there or streams):
            case.path_parameters["run_id"] = run_id
        case.call_and_validate(headers=headers, checks=checks)

    ask()
