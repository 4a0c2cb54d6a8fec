"""A sandbox with a workflow on a schedule, and time that passes as a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import text

from orchestrator import testing
from orchestrator.services.claim import Claimed, claim
from orchestrator.services.coordinate import tick
from orchestrator.services.schedules import set_schedule
from orchestrator.store.reads.runs import RunFilters, list_runs
from orchestrator.store.reads.schedules import get_schedule, list_fires
from orchestrator.store.transition import Lease
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, step
from tests.hands import finish

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)  # a Monday


class Scheduled:
    """The schedule `s` of the workflow `w`, which has one step."""

    def __init__(self, box: Sandbox, said: Mapping[str, Any]) -> None:
        self.box, self.engine, self.at = box, box.engine, START
        box.register(document(step("a")))
        set_schedule(self.engine, "s", {"workflow": "w", "interval_seconds": 60} | dict(said), actor="test")

    def wait(self, seconds: float, *, ticks: int = 1) -> None:
        """Nobody coordinates for so long; then a coordinator does."""
        self.at += timedelta(seconds=seconds)
        self.box.clock.move_to(self.at)
        for _ in range(ticks):
            tick(self.engine)

    def work(self) -> None:
        """A worker does all that waits, and the coordinator sees it."""
        while self.box.step():
            pass
        tick(self.engine)

    def claim(self) -> Claimed:
        """A worker begins with a step."""
        (claimed,) = claim(self.engine, [self.box._waiting.popleft()], Lease("w", 3600))
        return claimed

    def finish(self, claimed: Claimed) -> None:
        """The worker is through with it, and the coordinator sees it."""
        finish(self.engine, claimed)
        tick(self.engine)

    def runs(self) -> list[dict[str, Any]]:
        """The runs of the schedule, newest first."""
        return list_runs(self.box.connection, RunFilters(schedule="s"), None, 1000).items

    def statuses(self) -> list[str]:
        return [run["status"] for run in self.runs()]

    def fires(self) -> list[tuple[str, str, Any]]:
        """What was decided, earliest first: when, as minutes and seconds after the start, how, and why or how often."""
        items = list_fires(self.box.connection, "s", limit=1000).items[::-1]
        return [(self._after(item["fire_at"]), item["status"], item["reason"] or item["count"]) for item in items]

    def _after(self, at: str) -> str:
        seconds = int((datetime.fromisoformat(at) - START).total_seconds())
        return f"{seconds // 60}:{seconds % 60:02}"

    def view(self) -> dict[str, Any]:
        return get_schedule(self.box.connection, "s")

    def count(self, table: str) -> int:
        return int(self.box.connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


@contextmanager
def scheduled(functions: Mapping[str, Callable[..., Any]] | None = None, **said: Any) -> Iterator[Scheduled]:
    """The schedule as it is at `START`, with what is said of it."""
    with testing.sandbox(FUNCTIONS | dict(functions or {}), at=START) as box:
        yield Scheduled(box, said)
