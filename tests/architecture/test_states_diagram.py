"""docs/states.md shows the transitions the code has."""

from __future__ import annotations

import runpy

from tests.architecture.source import ROOT


def test_the_states_page_is_what_its_generator_makes() -> None:
    generator = runpy.run_path(str(ROOT / "docs" / "generate_states.py"))
    assert (ROOT / "docs" / "states.md").read_text() == generator["page"](), "run `make docs`"
