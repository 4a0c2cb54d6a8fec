"""docs/performance.md shows what was measured."""

from __future__ import annotations

import json

from orchestrator.bench.page import DATA, FOLDER, render
from orchestrator.bench.plots import plots
from tests.architecture.source import ROOT

DOCS = ROOT / "docs"


def test_the_performance_page_is_made_of_its_data() -> None:
    results = json.loads((DOCS / FOLDER / DATA).read_text())
    page = (DOCS / "performance.md").read_text()
    assert page == render(results), f"run `orchestrator bench --from docs/{FOLDER}/{DATA} --write docs/performance.md`"
    pictures = {path.name: path.read_text() for path in (DOCS / FOLDER).glob("*.svg")}
    assert pictures == plots(results)
