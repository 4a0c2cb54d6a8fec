"""Documents that other projects keep in public: each is imported, or told why not. Skipped where they are not there."""

from __future__ import annotations

import pytest

from orchestrator.convert.bring import bring
from orchestrator.convert.guess import Engine, metadata_of
from orchestrator.domain.load import load_text
from orchestrator.domain.parse import parse
from tests.architecture.source import ROOT

FOLDER = ROOT.parent / "shared" / "cases" / "elsewhere"


@pytest.mark.parametrize("engine", Engine)
def test_every_file_is_imported_or_told_of_with_a_reason(engine: Engine) -> None:
    files = sorted((FOLDER / engine.value).glob("*.*"))
    if not files:
        pytest.skip(f"no documents of {engine} in ../shared/cases/elsewhere")
    for one in bring([(str(file), file.read_bytes()) for file in files], engine):
        assert one.workflows or one.problems or metadata_of(load_text((FOLDER / one.file).read_bytes())), one.file
        assert all(problem.message for problem in one.problems), one.file
        for workflow in one.workflows:
            assert load_text(workflow.text) == workflow.document, one.file
            parse(workflow.document)
            assert all(finding.message for finding in workflow.findings), one.file
