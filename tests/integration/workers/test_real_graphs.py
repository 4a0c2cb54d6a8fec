"""Real scientific workflows through real workers, in dependency order.

The graphs are WfCommons' WfInstances (LGPL-3.0 data): read from the folder beside the checkout, not copied; where
that folder is absent there is nothing to run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.workers.fleet import ROOT, Fleet

GRAPHS = ROOT.parent / "shared" / "cases" / "graphs"


@pytest.mark.timeout(300)
@pytest.mark.skipif(not GRAPHS.is_dir(), reason="the graphs lie beside the checkout, and are not there")
def test_every_graph_runs_to_its_end_in_dependency_order(fleet: Fleet) -> None:
    fleet.worker()
    files = sorted(GRAPHS.glob("*.json"))
    assert len(files) == 13
    for file in files:
        _run(fleet, file)


def _run(fleet: Fleet, file: Path) -> None:
    graph = json.loads(file.read_text())["steps"]
    journal = fleet.folder / file.name
    steps = [
        {
            "name": step["name"],
            "function": "t.span",
            "input": {"journal": str(journal)},
            "depends_on": step["depends_on"],
        }
        for step in graph
    ]
    run_id = fleet.start(steps)
    assert fleet.ended(run_id, 120)["status"] == "succeeded", file.name
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    began = {event["step"]: event["at"] for event in events if event["kind"] == "start"}
    ended = {event["step"]: event["at"] for event in events if event["kind"] == "end"}
    assert len(events) == 2 * len(steps), file.name
    assert began.keys() == ended.keys() == {step["name"] for step in steps}
    early = [(s["name"], a) for s in graph for a in s["depends_on"] if began[s["name"]] < ended[a]]
    assert early == [], file.name
