"""The two Celery tasks."""

from __future__ import annotations

from celery import Celery

from orchestrator.services.coordinate import tick
from orchestrator.transport import COORDINATE, RUN_STEPS
from workers.executor import run_message
from workers.lifecycle import Lifecycle


def register_tasks(app: Celery, lifecycle: Lifecycle) -> None:
    """Add the tasks to `app`. Acknowledged before they run: what is lost then, Postgres knows."""

    @app.task(name=RUN_STEPS, ignore_result=True, acks_late=False)
    def run_steps(entries: list[list[str]]) -> None:
        """Run steps, each given as [step id, claim token]."""
        run_message(lifecycle.desk(), entries)

    @app.task(name=COORDINATE, ignore_result=True, acks_late=False)
    def coordinate() -> None:
        """One tick of the coordinator, where Celery's own scheduler sends it to the workers."""
        tick(lifecycle.desk().engine)
