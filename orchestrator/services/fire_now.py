"""Fire a schedule at once, because somebody says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from orchestrator.domain.firing import MOST_WAITING, Overlap
from orchestrator.errors import Conflict
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.firing import Firing
from orchestrator.services.schedules import one_schedule, tell
from orchestrator.store import schedule_fires


@dataclass(frozen=True, slots=True)
class Fired:
    """`run_id` None: it waits for a run that is open, as the schedule's overlap policy says."""

    id: str
    fire_at: datetime
    run_id: str | None


def fire_now(
    engine: Engine,
    which: str,
    *,
    app: str | None = None,
    force: bool = False,
    reason: str | None = None,
    actor: str = "cli",
) -> Fired:
    """Start a run of the schedule now, also of one that is paused. Its next fire time stays as it is.

    While a run of it is open its overlap policy holds, unless `force` starts the run side by side. Raises
    `Conflict` where that is `skip`, what `start` raises, and as `one_schedule` does.
    """
    with engine.db.transaction() as conn:
        row = one_schedule(conn, which, app)
        firing = Firing(engine, conn, row)
        firing.note_ended()
        waits = _waits(firing, force)
        again = schedule_fires.next_again(conn, row.id, row.now)
        schedule_fires.add_fire(conn, row.id, row.now, "manual", again)
        run_id = None
        if not waits:
            run_id = firing.start(row.now)
            schedule_fires.set_started(conn, row.id, row.now, again, run_id)
        tell(conn, actor, "fire_schedule", row, reason, run_id=run_id, fire_at=row.now.isoformat())
    dispatch(engine, firing.follow())
    return Fired(str(row.id), row.now, run_id)


def _waits(firing: Firing, force: bool) -> bool:
    """Whether the run waits for one that is open; raises `Conflict` where it may not."""
    overlap = Overlap(firing.row.overlap)
    waiting = schedule_fires.count_waiting(firing.conn, firing.row.id)
    if force or overlap is Overlap.ALLOW or not (firing.is_open() or waiting):
        return False
    if overlap is Overlap.SKIP:
        raise Conflict(f"a run of schedule '{firing.row.name}' is open, and its overlap policy is skip")
    if waiting >= MOST_WAITING:
        raise Conflict(f"{waiting} runs of schedule '{firing.row.name}' wait already")
    if overlap is Overlap.CANCEL_RUNNING:
        firing.make_way()
    return True
