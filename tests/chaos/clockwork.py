"""Schedules that fire through it all, one of each overlap policy, and what must be true of them afterwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from orchestrator.domain.firing import Overlap
from orchestrator.services.schedules import pause_schedule, set_schedule
from tests.chaos.cases import work
from tests.chaos.world import World

SECONDS = 3
_EVERY = timedelta(seconds=SECONDS)
# Longer than the interval as soon as anything is broken.
FIRED = {
    "name": "fired",
    "steps": [work("a"), {"name": "nap", "sleep": 1, "depends_on": ["a"]}, work("b", "a", depends_on=["a", "nap"])],
    "output": "{{ steps.b.output.n }}",
}
OUTPUT = 2


def begin(world: World) -> None:
    for overlap in Overlap:
        said = {"workflow": "fired", "interval_seconds": SECONDS, "overlap": overlap.value}
        set_schedule(world.engine, overlap.value, said, actor="chaos")


def acts_to_end(world: World) -> list[Callable[[], Any]]:
    """Let them fire no more."""
    return [_pausing(world, overlap) for overlap in Overlap]


def _pausing(world: World, overlap: Overlap) -> Callable[[], Any]:
    return lambda: pause_schedule(world.engine, overlap.value, actor="chaos")


def faults(rows: Callable[..., Any]) -> Iterator[str]:
    """What is wrong with them: `rows` gives the rows of a statement."""
    fires, gaps = defaultdict(list), defaultdict(list)
    for row in rows("SELECT f.*, r.status AS became, r.output, r.finished_at, b.at AS begun_at FROM schedule_fires f"
                    " LEFT JOIN workflow_runs r ON r.id = f.run_id LEFT JOIN chaos_begun b ON b.run_id = r.id"
                    " ORDER BY r.id"):  # fmt: skip
        fires[row.schedule_id].append(row)
    for row in rows("SELECT * FROM schedule_gaps"):
        gaps[row.schedule_id].append(row)
    for schedule in rows("SELECT * FROM schedules"):
        yield from _decided_once(schedule, fires[schedule.id], gaps[schedule.id])
        yield from _followed(schedule, fires[schedule.id])
        if schedule.overlap != Overlap.ALLOW:
            yield from _one_after_another(schedule, fires[schedule.id])


def _decided_once(schedule: Any, fires: list[Any], gaps: list[Any]) -> Iterator[str]:
    """Each fire time from its beginning to the first one that was not decided yet has a row, or lies in one gap."""
    first = schedule.created_at.timestamp() // SECONDS * SECONDS + SECONDS
    at = datetime.fromtimestamp(first, UTC)
    while at < schedule.next_fire_at:
        found = [fire.status for fire in fires if fire.fire_at == at]
        found += [gap.reason for gap in gaps if gap.first_at <= at <= gap.last_at]
        if len(found) != 1:
            yield f"schedule {schedule.name} decided {at} as {found}"
        at += _EVERY


def _followed(schedule: Any, fires: list[Any]) -> Iterator[str]:
    ends = {"succeeded", "canceled"} if schedule.overlap == Overlap.CANCEL_RUNNING else {"succeeded"}
    for fire in fires:
        if fire.status in ("waiting", "dropped"):  # it is paused; a later one took its place
            continue
        if fire.status not in ends or fire.status != fire.became:
            yield f"the run of {schedule.name} at {fire.fire_at} is {fire.became}, noted as {fire.status}: {fire.error}"
        elif fire.status == "succeeded" and fire.output != OUTPUT:
            yield f"the run of {schedule.name} at {fire.fire_at} gave {fire.output}"


def _one_after_another(schedule: Any, fires: list[Any]) -> Iterator[str]:
    """When a run ended is when that transaction began; the next began behind its end, when it was written down."""
    runs = [fire for fire in fires if fire.run_id is not None]
    for one, two in zip(runs, runs[1:], strict=False):
        if one.finished_at is None or two.begun_at < one.finished_at:
            yield f"runs {one.run_id} and {two.run_id} of schedule {schedule.name} were open at one time"
