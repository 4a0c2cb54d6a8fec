"""docs/api.md has every route of the OpenAPI document."""

from __future__ import annotations

import runpy

from tests.architecture.source import ROOT


def test_the_table_of_routes_is_what_its_generator_makes() -> None:
    generator = runpy.run_path(str(ROOT / "docs" / "generate_api.py"))
    assert (ROOT / "docs" / "api.md").read_text() == generator["page"](), "run `make docs`"
