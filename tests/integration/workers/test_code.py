"""Workflows that are functions, on a real worker."""

from __future__ import annotations

import os
import signal
from typing import Any

from orchestrator.services.signal import signal as send
from orchestrator.services.start import start
from tests.integration.workers.fleet import Fleet
from tests.support import wait_for


def _waiting(fleet: Fleet, run_id: str, name: str) -> bool:
    steps = "SELECT status FROM workflow_run_steps WHERE run_id = :id AND name = :name"
    return [row.status for row in fleet.rows(steps, id=run_id, name=name)] == ["waiting"]


def test_a_killed_process_repeats_only_what_was_not_journaled_and_waits_hold_no_process(fleet: Fleet) -> None:
    fleet.worker(concurrency=1, FUNCTIONS="tests.integration.workers.coded")
    wait_for(lambda: fleet.rows("SELECT FROM workflows WHERE name = 'endless'"), what="the worker's workflows")
    input: dict[str, Any] = {"amount": 5, "journal": fleet.journal, "file": fleet.flag("go")}
    run_id = start(fleet.engine, "fulfil", input).run_id
    os.kill(fleet.wait_event("hang")["pid"], signal.SIGKILL)
    fleet.wait_event("hang", count=2)
    fleet.raise_flag("go")
    wait_for(lambda: _waiting(fleet, run_id, "approved"), what="the function waits")
    endless = fleet.ended(start(fleet.engine, "endless").run_id)  # by the one process there is
    assert (endless["status"], endless["error"]["type"]) == ("failed", "Timeout")
    send(fleet.engine, run_id, "approved", {"by": "eve"})
    run = fleet.ended(run_id)
    assert run["output"] == {"charge": 5, "label": {"label": 7}, "hung": "over", "ok": {"by": "eve"}}
    assert [event["kind"] for event in fleet.events()] == ["charge", "hang", "hang"]
    assert fleet.tried(run_id, "driver") == ["lost", "succeeded"]
    said = fleet.rows("SELECT stream, message FROM step_logs WHERE run_id = :id ORDER BY id", id=run_id)
    assert [tuple(line) for line in said] == [("log", "charging 5"), ("stdout", "charged 5")]
    revision = fleet.rows(
        "SELECT version FROM workflow_revisions v JOIN workflows w ON w.id = v.workflow_id WHERE w.name = 'fulfil'"
    )
    assert [row.version for row in revision] == ["3"]
