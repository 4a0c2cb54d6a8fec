"""Run the steps of a message: claim, call, settle, and go on with what that makes ready."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType

from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.domain.values import describe_exception
from orchestrator.errors import Unreachable
from orchestrator.ids import is_id
from orchestrator.services.claim import Claimed, Prepared, claim
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.perform import Performed, perform
from orchestrator.services.settle import Settled, settle
from orchestrator.store.logs import LogLine
from orchestrator.store.transition import Lease, Queued
from workers.board import Board
from workers.limits import Call, Limits
from workers.live import LiveAttempt, Reporter
from workers.logs import Captured

log = logging.getLogger("orchestrator.worker")
step_log = logging.getLogger("orchestrator.step")
_TRIES = 3
_PATIENCE_SECONDS = 300.0  # with an outage of Postgres, in which nobody else can take the attempt either


@dataclass(frozen=True, slots=True)
class Desk:
    """What one process needs to run attempts.

    `continuation`: for how many seconds since a message came its worker goes on with what it made ready.
    `alone`: the process runs one attempt at a time.
    """

    engine: Engine
    lease: Lease
    board: Board
    limits: Limits
    reporter: Reporter
    continuation: float
    alone: bool


def run_message(desk: Desk, entries: Iterable[Sequence[str]]) -> None:
    """Run the steps that are still to be run of [step id, token] pairs, one after the other."""
    began = time.monotonic()
    with desk.limits.held():
        for queued in _read(entries):
            queue = None if desk.limits.stopping else _run_chain(desk, queued, began)
            if queue is not None:
                _dispatch(desk, [queue])  # the queue's window has room again


def _read(entries: Iterable[Sequence[str]]) -> Iterator[Queued]:
    for entry in entries:
        if len(entry) == 2 and all(isinstance(part, str) and is_id(part) for part in entry):
            yield Queued(*entry)
        else:
            log.error("a message holds something else than a step and its token: %.200r", entry)


def _run_chain(desk: Desk, queued: Queued, began: float) -> str | None:
    """Run the step and what follows it, for as long as a message may take; its queue, None if it was not to be run."""
    claimed = _claim(desk, queued)
    if claimed is None:
        return None
    following: Claimed | None = claimed
    while following is not None:
        settled = _run_attempt(desk, following, began)
        if settled.queues:
            _dispatch(desk, settled.queues)
        following = settled.next
    return claimed.queue


def _claim(desk: Desk, queued: Queued) -> Claimed | None:
    try:
        claimed = claim(desk.engine, [queued], desk.lease)
    except Unreachable as error:
        log.warning("step %s is left to be sent again: %s", queued.step_id, error)
        return None
    return claimed[0] if claimed else None


def _dispatch(desk: Desk, queues: Iterable[str]) -> None:
    try:
        dispatch(desk.engine, queues)
    except Unreachable as error:
        log.warning("ready steps are left to the coordinator: %s", error)
    except Exception:  # noqa: BLE001 - the step this worker goes on with must not be dropped for others
        log.exception("ready steps are left to the coordinator")


def _run_attempt(desk: Desk, claimed: Claimed, began: float) -> Settled:
    desk.board.enter(claimed.step_id, claimed.token)
    try:
        performed, lines = _perform(desk, claimed)
        go_on = time.monotonic() - began < desk.continuation and not desk.limits.stopping
        return _settle(desk, claimed, performed, lines, desk.lease if go_on else None)
    except Unreachable as error:
        log.error("step %s is left to its lease: %s", claimed.step_id, error)
        return Settled(stale=True)
    finally:
        desk.board.leave(claimed.token)


def _perform(desk: Desk, claimed: Claimed) -> tuple[Performed, list[LogLine]]:
    """Perform the attempt; raises `Unreachable` when its input could not be made for long."""
    live = LiveAttempt(desk.engine, claimed)
    guard = _Guard(desk, claimed.token, live)
    desk.reporter.add(claimed.token, live)
    try:
        performed = _prepare_and_call(desk, claimed, live, guard)
    finally:
        guard.clear()
        desk.reporter.remove(claimed.token)
    if desk.limits.stopping and performed.outcome.kind is OutcomeKind.FAILED:
        performed = replace(performed, outcome=Outcome.lost("its worker was stopped while it ran"))
    return performed, live.close()


def _prepare_and_call(desk: Desk, claimed: Claimed, live: LiveAttempt, guard: _Guard) -> Performed:
    for last in _tries(max(desk.lease.seconds, _PATIENCE_SECONDS)):
        try:
            return perform(desk.engine, claimed, live, step_log, guard)
        except Unreachable:  # before the function was called: nothing it raises comes out of `perform`
            if last:
                raise
        except Exception as error:  # noqa: BLE001 - a fault of ours must end the step, not the worker
            log.exception("step %s could not be prepared", claimed.step_id)
            return Performed(_fault(error), None)
    raise AssertionError("unreachable")


def _settle(
    desk: Desk, claimed: Claimed, performed: Performed, lines: Sequence[LogLine], take_next: Lease | None
) -> Settled:
    """Store the outcome, however often it takes; raises `Unreachable` when Postgres is away for long."""
    faults = 0
    for last in _tries(max(desk.lease.seconds, _PATIENCE_SECONDS)):
        try:
            settled = settle(
                desk.engine,
                claimed,
                performed.outcome,
                input_json=performed.input_json,
                lines=lines,
                take_next=take_next,
            )
        except Unreachable:
            if last:
                raise
        except Exception as error:  # noqa: BLE001 - what cannot be stored becomes a failure that can
            log.exception("the outcome of step %s could not be stored", claimed.step_id)
            faults += 1
            if faults == _TRIES:
                performed, lines = Performed(_fault(error), None), ()
            if faults > _TRIES or last:
                return Settled(stale=True)
        else:
            if settled.stale:
                log.info("step %s: its claim was lost, what it gave is dropped", claimed.step_id)
            return settled
    raise AssertionError("unreachable")


def _fault(error: Exception) -> Outcome:
    told = describe_exception(error)
    info = ErrorInfo("InternalError", f"{told['type']}: {told['message']}", told.get("traceback"), ("InternalError",))
    return Outcome.failed(info, final=True)


def _tries(seconds: float) -> Iterator[bool]:
    """Waits ever longer between tries; True for the last, when `seconds` are over."""
    ends = time.monotonic() + seconds
    wait = 0.05
    while (left := ends - time.monotonic()) > 0:
        yield False
        time.sleep(min(wait, left))
        wait = min(wait * 2, 1.0)
    yield True


class _Guard:
    """Around the call of a step function: what it prints is captured, the time it takes is limited."""

    def __init__(self, desk: Desk, token: str, live: LiveAttempt) -> None:
        self._desk, self._token, self._live = desk, token, live
        self._captured: Captured | None = None
        self._call: Call | None = None

    def __call__(self, prepared: Prepared) -> _Guard:
        self._live.prepared(prepared)
        self._captured = Captured(self._live.capture, alone=self._desk.alone)
        self._call = self._desk.limits.call(self._token, prepared.timeout)
        return self

    def __enter__(self) -> None:
        assert self._captured is not None
        assert self._call is not None
        self._captured.start()
        self._call.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._captured is not None
        assert self._call is not None
        try:
            self._call.__exit__(kind, error, trace)
        finally:
            self._captured.stop()

    def clear(self) -> None:
        """Also after an interrupt that came between entering and the call, or on the way out."""
        if self._call is not None:
            self._call.clear()
        if self._captured is not None:
            self._captured.stop()
