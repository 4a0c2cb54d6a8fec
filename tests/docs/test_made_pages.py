"""Pages that are made from the code are as the code has it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

GIVEN = re.compile(
    r'(?:ErrorInfo|failed|_final)\( *"([A-Z]\w+)"|^UNTOLD = "(\w+)"|^ +kind = "(\w+)" if .* else "(\w+)"'
)
MAKERS = sorted((ROOT / "docs").glob("generate_*.py"))


@pytest.mark.parametrize("maker", MAKERS, ids=[maker.stem for maker in MAKERS])
def test_a_page_is_what_its_maker_makes(maker: Path) -> None:
    name = maker.stem.removeprefix("generate_")
    assert (ROOT / "docs" / f"{name}.md").read_text() == runpy.run_path(str(maker))["page"](), "run `make docs`"


def test_the_page_of_errors_has_every_type_that_the_engine_gives_a_step() -> None:
    found = {"UnknownFunction"}  # by the name of its class
    for path in (path for folder in ("orchestrator", "workers") for path in (ROOT / folder).rglob("*.py")):
        for line in path.read_text().replace("(\n", "(").splitlines():
            found |= {name for names in GIVEN.findall(line) for name in names if name}
    assert set(runpy.run_path(str(ROOT / "docs" / "generate_errors.py"))["STEP_ERRORS"]) == found
