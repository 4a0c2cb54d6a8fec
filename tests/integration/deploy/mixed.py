"""A workflow with some of everything, to see whether it runs in another surrounding."""

from __future__ import annotations

from typing import Any

from orchestrator.services.signal import signal
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for


def mixed_runs_succeed(fleet: Fleet, count: int = 3) -> None:
    """Start so many on a fleet and see them to their ends."""
    runs = [fleet.start(_steps(fleet)) for _ in range(count)]
    for run_id in runs:
        wait_for(lambda run_id=run_id: fleet.tried(run_id, "tried"), what="a failed attempt")
        signal(fleet.engine, run_id, "go", {"by": "me"})
    fleet.raise_flag("mend")
    assert {fleet.ended(run_id)["status"] for run_id in runs} == {"succeeded"}


def _steps(fleet: Fleet) -> list[dict[str, Any]]:
    """A fan, a join, a retry, a wait for time and one for an event, and items."""
    fan: list[dict[str, Any]] = [{"name": f"f{n}", "function": "t.add", "input": {"a": n}} for n in range(20)]
    return [
        *fan,
        {"name": "join", "function": "t.add", "input": {"a": 1}, "depends_on": [step["name"] for step in fan]},
        {
            "name": "tried",
            "function": "t.fail_until",
            "input": {"file": fleet.flag("mend")},
            "retry": {"max_attempts": 1000, "delay": 0.1},
        },
        {"name": "slept", "sleep": 0.2},
        {"name": "approved", "wait_for": {"event": "go"}},
        {"name": "each", "function": "t.add", "input": {"a": "{{ item }}"}, "with_items": [1, 2, 3]},
    ]
