"""Runs of functions: an engine driven by hand whose workflows are given as functions."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import text

from orchestrator.functions import make_workflow
from orchestrator.services.coordinate import tick
from orchestrator.services.engine import Settings
from orchestrator.services.register_code import register_code
from orchestrator.services.start import start
from orchestrator.store import outcomes
from orchestrator.store.db import Database
from tests.hands import Hands

Function = Callable[..., Any]


class Coders(Hands):
    """Hands that run functions."""

    def __init__(
        self, db: Database, functions: Mapping[str, Function] | None = None, settings: Settings | None = None
    ) -> None:
        super().__init__(db, functions, settings)

    def know(self, call: Function, name: str, **options: Any) -> None:
        """This process has the function of the workflow `name`, and it is registered."""
        spec = make_workflow(call, name, **options)
        self.engine.functions.workflows.put(spec)
        register_code(self.engine, spec, actor="test")

    def deploy(self, call: Function, name: str) -> None:
        """From here on the workflow's function is this one."""
        self.engine.functions.workflows.put(make_workflow(call, name))

    def begin(self, call: Function, input: Any = None, *, name: str = "code", **options: Any) -> str:
        """Register the workflow and start a run of it."""
        self.know(call, name, **options)
        return start(self.engine, name, input).run_id

    def finish(self, run_id: str, ticks: int = 50) -> dict[str, Any]:
        """Work, and let the coordinator look, until the run has ended; the run."""
        for _ in range(ticks):
            self.work()
            if self.run(run_id)["status"] in ("succeeded", "failed", "canceled"):
                return self.run(run_id)
            tick(self.engine)
        raise AssertionError(f"the run has not ended: {self.run(run_id)}, {self.open_steps(run_id)}")

    def run(self, run_id: str) -> dict[str, Any]:
        with self.db.transaction() as conn:
            return outcomes.load_run(conn, run_id)

    def statuses(self, run_id: str) -> dict[str, str]:
        return {name: step["status"] for name, step in self.steps(run_id).items()}

    def open_steps(self, run_id: str) -> dict[str, str]:
        ended = ("succeeded", "failed", "canceled", "skipped")
        return {name: status for name, status in self.statuses(run_id).items() if status not in ended}

    def journal(self, run_id: str) -> list[tuple[int, int, str, str | None]]:
        """Position, part, key and status of what is journaled."""
        with self.db.transaction() as conn:
            rows = conn.execute(
                text("SELECT position, part, key, status FROM workflow_journal WHERE run_id = :id ORDER BY 1, 2"),
                {"id": run_id},
            )
            return [(row.position, row.part, row.key, row.status) for row in rows]

    def due(self, run_id: str) -> None:
        """Let the time come for what waits for one."""
        with self.db.transaction() as conn:
            conn.execute(
                text(
                    "UPDATE workflow_run_steps SET wake_at = orchestrator_now() - interval '1 s',"
                    " wait = CASE WHEN wait ->> 'until' IS NULL THEN wait ELSE CAST(jsonb_set(CAST(wait AS jsonb),"
                    " '{until}', to_jsonb(orchestrator_now() - interval '1 s')) AS json) END"
                    " WHERE run_id = :id AND status = 'waiting' AND wake_at IS NOT NULL"
                ),
                {"id": run_id},
            )


def paused(call: Function) -> Function:
    """The call after a pause of up to a few milliseconds: for hunts of what happens at the same moment."""
    pause = random.choice((0.0, 0.0005, 0.002, 0.005)) * random.random()

    def later() -> Any:
        time.sleep(pause)
        return call()

    return later
