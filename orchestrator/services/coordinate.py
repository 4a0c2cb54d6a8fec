"""The coordinator's tick: everything no worker's transaction does. Any number of coordinators are safe.

One statement tells which duties there are; those for which there is nothing to do cost no other (docs/adr/0008).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import Row

from orchestrator.domain.cascade import Ended
from orchestrator.domain.outcome import ErrorInfo, Outcome
from orchestrator.domain.states import Reason, StepStatus
from orchestrator.errors import Locked, Troubled, Unreachable
from orchestrator.services.admit import admit
from orchestrator.services.advance import advance
from orchestrator.services.claim import claimed_from
from orchestrator.services.close import close_run
from orchestrator.services.dispatch import dispatch, send
from orchestrator.services.end_item import end_item
from orchestrator.services.engine import Engine
from orchestrator.services.fire_schedules import fire_schedules, follow_fires
from orchestrator.services.halt import apply_halt, follow_up
from orchestrator.services.make_room import make_room
from orchestrator.services.pass_down import meet, pass_down
from orchestrator.services.scope import RunScope
from orchestrator.services.settle import settle
from orchestrator.services.stop_items import stop_items
from orchestrator.services.tell import tell_parent
from orchestrator.store import active, children, events, item_rows, lease, results, runs, transition
from orchestrator.store.transition import Queued

log = logging.getLogger(__name__)

Duty = Callable[[Engine], Iterable[str]]


def tick(engine: Engine) -> None:
    """Do what is due. Raises `Unreachable` when Postgres is away or not migrated."""
    do(engine, due(engine))


def due(engine: Engine, *, reclaiming: bool = True) -> list[Duty]:
    """The duties for which there may be something to do; raises `Unreachable` when Postgres is away or not migrated.

    Without `reclaiming` no attempt is taken from its worker: for the moments after an outage of Postgres, in which
    no worker could renew its leases.
    """
    told = lease.find_due(engine.db, engine.settings.timeout_grace, engine.settings.resend)
    return [duty for duty in DUTIES if told.get(duty.__name__, True) and (reclaiming or duty is not reclaim)]


def do(engine: Engine, duties: Iterable[Duty]) -> None:
    """Do these duties. One that fails is logged and does not keep the others from theirs; raises `Unreachable`."""
    queues: set[str] = set()
    for duty in duties:
        try:
            queues.update(duty(engine))
        except (Locked, Troubled) as error:
            log.warning("the coordinator's duty '%s' is left to the next tick: %s", duty.__name__, error)
        except Unreachable:
            raise
        except Exception:  # noqa: BLE001 - one broken row must not stop the coordinator; the next tick tries again
            log.exception("the coordinator's duty '%s' failed; it is tried again at the next tick", duty.__name__)
    dispatch(engine, queues)


Act = tuple[str, Callable[[], Iterable[str]]]


def _each(acts: Iterable[Act]) -> set[str]:
    """Do each act, (run id, what is to be done); one that fails or whose run is locked keeps no other waiting."""
    queues: set[str] = set()
    locked: set[str] = set()
    for run_id, act in acts:
        if run_id in locked:  # its other rows most likely are too, and each would be waited for
            continue
        try:
            queues.update(act())
        except (Locked, Troubled) as error:
            locked.add(run_id)
            log.warning("run %s is left to the next tick: %s", run_id, error, extra={"run_id": run_id})
        except Unreachable:
            raise
        except Exception:  # noqa: BLE001 - one broken row must not keep the others waiting
            told = "run %s: the coordinator could not do its duty; it is tried again at the next tick"
            log.exception(told, run_id, extra={"run_id": run_id})
    return queues


def promote_retries(engine: Engine) -> set[str]:
    """Steps whose wait for another attempt is over become ready to be sent."""
    with engine.db.transaction() as conn:
        return transition.promote_due_retries(conn, engine.settings.batch)


def wake_waiting(engine: Engine) -> set[str]:
    """Steps that have waited for as long as they were to go on."""
    with engine.db.transaction() as conn:
        return transition.wake_due(conn, engine.settings.batch)


def reclaim(engine: Engine) -> set[str]:
    """Attempts whose worker fell silent are lost; those past their timeout, with no word from the worker, timed out."""
    with engine.db.transaction() as conn:
        expired = lease.find_expired(conn, engine.settings.timeout_grace, engine.settings.batch)
    return _each((row.run_id, partial(_reclaim, engine, row)) for row in expired)


def _reclaim(engine: Engine, row: Row[Any]) -> frozenset[str]:
    settled = settle(engine, claimed_from(row), _expiry(row.lost, row.worker, row.timeout))
    if not settled.stale:
        engine.tally.count("reclaimed", "lease" if row.lost else "timeout")
    return settled.queues


def _expiry(lost: bool, worker: str, timeout: float | None) -> Outcome:
    if lost or timeout is None:
        return Outcome.lost(f"worker {worker} stopped answering and its lease ran out")
    return Outcome.timed_out(timeout)


def expire_totals(engine: Engine) -> set[str]:
    """Steps that wait for an attempt past their `total_timeout` fail."""
    with engine.db.transaction() as conn:
        overdue = lease.find_overdue_totals(conn, engine.settings.batch)
    return _each((row.run_id, partial(_expire_total, engine, row.id, row.run_id, row.position)) for row in overdue)


def _expire_total(engine: Engine, step_id: str, run_id: str, position: int) -> frozenset[str]:
    with engine.db.transaction() as conn:
        facts = runs.load_run(conn, run_id)
        scope = RunScope(engine, conn, engine.plans.get(conn, facts.revision_id), run_id)
        step = scope.plan.at(position)
        fan = item_rows.lock_owner(conn, run_id, 0) if scope.plan.is_begun(position) else None
        what = "its items" if step.step.with_items is not None else "its next attempt"
        error = ErrorInfo("TotalTimeout", f"total_timeout ran out while the step waited for {what}")
        error = scope.publish_failure(step, error)
        if not transition.fail_unclaimed(conn, step_id, Reason.TOTAL_TIMEOUT, error):
            return frozenset()
        shown = {"type": error.type, "message": error.message}
        told = {"step": step.name, "reason": Reason.TOTAL_TIMEOUT, "error": shown}
        events.record(conn, run_id, "step.failed", told, step_id)
        if fan is not None:
            ended = end_item(conn, scope, scope.plan.steps[0], fan, StepStatus.FAILED)
            advanced = replace(ended.closing, others=ended.closing.others | ended.queues)
        else:
            advanced = advance(conn, scope, [Ended(position, StepStatus.FAILED, None, error.as_json())])
    stopped = stop_items(engine, run_id, position) if step.step.with_items is not None else frozenset()
    return follow_up(engine, run_id, advanced) | pass_down(engine, run_id) | stopped


def stop_noted_items(engine: Engine) -> set[str]:
    """Items that were to be stopped and, after a crash, were not."""
    with engine.db.transaction() as conn:
        noted = item_rows.find_to_stop(conn, engine.settings.batch)
    return _each((row.run_id, partial(stop_items, engine, row.run_id, row.position)) for row in noted)


def expire_runs(engine: Engine) -> set[str]:
    """Runs past their `timeout` are stopped and fail."""
    with engine.db.transaction() as conn:
        overdue = lease.find_overdue_runs(conn, engine.settings.batch)
    return _each((run_id, partial(_expire_run, engine, run_id)) for run_id in overdue)


def _expire_run(engine: Engine, run_id: str) -> frozenset[str]:
    with engine.db.transaction() as conn:
        runs.request_halt(conn, run_id, Reason.DEADLINE.value)
    return apply_halt(engine, run_id)


def carry_out_halts(engine: Engine) -> set[str]:
    """Halts that were noted and, after a crash, not carried out."""
    with engine.db.transaction() as conn:
        halting = runs.find_halting(conn, engine.settings.batch)
    return _each((run_id, partial(apply_halt, engine, run_id)) for run_id in halting)


def tell_parents(engine: Engine) -> set[str]:
    """Steps whose child run has ended, and who were not told."""
    with engine.db.transaction() as conn:
        untold = children.find_untold(conn, engine.settings.batch)
    return _each((run_id, partial(tell_parent, engine, run_id)) for run_id in untold)


def pass_on(engine: Engine) -> set[str]:
    """Child runs that do not stand as their parents' state asks, orphans among them; a portion of all each tick."""
    with engine.db.transaction() as conn:
        rows = children.look_at_children(conn, engine.rounds.after, engine.settings.batch)
    engine.rounds.after = rows[-1].id if len(rows) == engine.settings.batch else engine.rounds.first
    return _each((row.id, partial(meet, engine, [row])) for row in rows if row.need is not None)


def withdraw_paused(engine: Engine) -> set[str]:
    """What was sent of a run that is paused since is taken back."""
    with engine.db.transaction() as conn:
        transition.unqueue_paused(conn)
    return set()


def admit_pending(engine: Engine) -> set[str]:
    """Runs that wait for their turn begin when there is room, or one makes room for them."""
    with engine.db.transaction() as conn:
        awaited = active.find_awaited(conn, engine.settings.batch)
    return _each((row.limit_key, partial(_admit, engine, row.workflow_id, row.limit_key)) for row in awaited)


def _admit(engine: Engine, workflow_id: str, key: str) -> frozenset[str]:
    with engine.db.transaction() as conn:
        queues = admit(engine, conn, workflow_id, key, advance, close_run)
    make_room(engine, workflow_id, key)
    return queues


def forget_results(engine: Engine) -> set[str]:
    """Results whose time is over are removed."""
    with engine.db.transaction() as conn:
        results.forget_expired(conn, engine.settings.batch)
    return set()


def resend(engine: Engine) -> set[str]:
    """Steps no worker has claimed for a while are sent again, as many as the broker has too few messages for.

    The others are lost, or some worker has fetched them and is busy with another step; they are those sent first, for
    a broker gives away messages in their order. What waits in the broker is not sent twice, however slow the workers.
    """
    for queue in lease.queues_with_queued(engine.db):
        queued = lease.count_queued(engine.db, queue)
        missing = queued - (engine.transport.depth(queue) or 0)
        if missing > 0:
            _resend(engine, queue, missing)
    return set()


def _resend(engine: Engine, queue: str, missing: int) -> None:
    with engine.db.transaction() as conn:
        rows = lease.take_unanswered(conn, queue, engine.settings.resend, missing)
    if rows:
        engine.tally.count("resent", queue, len(rows))
        log.info("queue %s: %d messages were lost or are slow; sent again", queue, len(rows), extra={"queue": queue})
        send(engine, queue, [Queued(row.id, row.claim_token) for row in rows])


def find_ready(engine: Engine) -> set[str]:
    """Every queue with ready steps: what a crash or a full window left unsent."""
    return lease.queues_with_ready(engine.db)


# In this order. Each has a part in `orchestrator_due` (migrations/versions/0002_batches.py); one without would be done
# at every tick.
DUTIES: tuple[Duty, ...] = (
    promote_retries,
    wake_waiting,
    reclaim,
    expire_totals,
    stop_noted_items,
    expire_runs,
    carry_out_halts,
    tell_parents,
    pass_on,
    withdraw_paused,
    admit_pending,
    follow_fires,
    fire_schedules,
    forget_results,
    resend,
    find_ready,
)
