"""Run the steps of a message: claim, call, settle, and go on with what is ready (docs/adr/0013)."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.domain.values import describe_exception
from orchestrator.errors import BlobsAway, Locked, Unreachable
from orchestrator.ids import is_id
from orchestrator.replay.perform import perform
from orchestrator.services.begun import site_of
from orchestrator.services.claim import Claimed, claim, claim_ready, release
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.patience import PATIENCE_SECONDS, tries
from orchestrator.services.perform import Performed
from orchestrator.services.put_away import put_away
from orchestrator.services.settle_all import Done, SettledAll, settle_all
from orchestrator.services.sites import Site
from orchestrator.store.batch import Take
from orchestrator.store.transition import Lease, Queued
from orchestrator.tracing.load import Attempts, AttemptSpan
from workers.appetite import Appetite
from workers.board import Board
from workers.durations import Durations
from workers.guard import Guard
from workers.limits import Limits
from workers.live import LiveAttempt, Reporter

log = logging.getLogger("orchestrator.worker")
step_log = logging.getLogger("orchestrator.step")
GROUP_SECONDS = 0.005  # how long a result waits for others to be stored with it
LATE_SECONDS = 0.5  # a result that waited for as long is stored by the reporter's thread
AWAY = (Unreachable, Locked)  # Postgres, or what it lets nobody have at this moment
_TRIES = 3


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
    durations: Durations = field(default_factory=Durations)
    traces: Attempts | None = None


def run_message(desk: Desk, entries: Iterable[Sequence[str]]) -> None:
    """Run the steps that are still to be run of [step id, token] pairs, and go on with what becomes ready."""
    until = time.monotonic() + desk.continuation
    with desk.limits.held():
        for queued in _read(entries):
            claimed = None if desk.limits.stopping else _claim(desk, queued)
            if claimed is not None:
                Hand(desk, claimed.queue, until).work(claimed)


def _read(entries: Iterable[Sequence[str]]) -> Iterator[Queued]:
    for entry in entries:
        if len(entry) == 2 and all(isinstance(part, str) and is_id(part) for part in entry):
            yield Queued(*entry)
        else:
            log.error("a message holds something else than a step and its token: %.200r", entry)


def _claim(desk: Desk, queued: Queued) -> Claimed | None:
    try:
        claimed = claim(desk.engine, [queued], desk.lease)
    except AWAY as error:
        log.warning("step %s is left to be sent again: %s", queued.step_id, error, extra={"step_id": queued.step_id})
        return None
    return claimed[0] if claimed else None


class Hand:
    """The attempts this process holds: begun one after the other, settled together.

    Several are held only of functions known to be short. What was performed waits for others to be settled with it
    for a few milliseconds; if one of these turns out slow, the reporter's thread settles what waits.
    """

    def __init__(self, desk: Desk, queue: str, until: float) -> None:
        self._desk, self._queue, self._until = desk, queue, until
        self._waiting: deque[Claimed] = deque()
        self._done: list[Done] = []
        self._settling = threading.Lock()
        self._appetite = Appetite(desk.durations, desk.lease, queue)

    def work(self, first: Claimed) -> None:
        """Perform the attempt and what follows it, for as long as a message may take."""
        self._waiting.append(first)
        self._desk.reporter.add(f"hand {first.token}", self)
        try:
            self._work(first)
        except AWAY as error:
            held = [d.claimed.step_id for d in self._done] + [c.step_id for c in self._waiting]
            log.error("steps %s are left to their leases: %s", ", ".join(held), error)
        finally:
            self._desk.reporter.remove(f"hand {first.token}")
            self._desk.board.seal()
            self._desk.board.hold([])

    def _work(self, first: Claimed) -> None:
        while self._waiting:
            self._hold()
            self._perform_some()
            self._linger()
            looked = self._settle()
            if not self._waiting and not looked and self._may_go_on():
                self._take_more()
        if not self._may_go_on():
            _dispatch(self._desk, [self._queue])  # others go on with what is left

    def _may_go_on(self) -> bool:
        return time.monotonic() < self._until and not self._desk.limits.stopping

    def _called(self, claimed: Claimed) -> Site | None:
        """Go by this attempt's function from here on, if it is known; its step's site."""
        site = site_of(self._desk.engine, claimed)
        if site is not None and site.step.function:
            self._appetite.called(site.step.function)
        return site

    # Taking and giving back.

    def _take_more(self) -> None:
        wanted = self._appetite.wanted(len(self._waiting))
        if wanted is None:
            return
        try:
            few = replace(wanted, room=min(wanted.room, wanted.more))
            self._waiting.extend(claim_ready(self._desk.engine, few))
        except AWAY as error:
            log.warning("ready steps are left to others: %s", error)

    def _hold(self) -> None:
        self._desk.board.hold([(claimed.step_id, claimed.token) for claimed in self._waiting])

    def _give_back(self) -> None:
        """What is not begun goes to others."""
        given = [(claimed.step_id, claimed.token) for claimed in self._waiting]
        self._waiting.clear()
        try:
            queues = release(self._desk.engine, given)
        except AWAY as error:
            log.warning("%d steps not begun are left to their leases: %s", len(given), error)
        else:
            _dispatch(self._desk, queues)

    # Performing.

    def _perform_some(self) -> None:
        """Perform what waits, until the first result has waited for long enough to be stored."""
        until = time.monotonic() + GROUP_SECONDS
        while self._waiting and time.monotonic() < until:
            if self._desk.limits.stopping or not self._desk.board.begin():
                self._give_back()
                return
            claimed = self._waiting.popleft()
            done = _perform(self._desk, claimed)
            with self._settling:
                self._done.append(done)
            self._note(done)

    def _note(self, done: Done) -> None:
        site = self._called(done.claimed)
        if site is not None and site.step.function:
            self._desk.durations.note(site.step.function, done.took, repeatable=site.repeatable)

    # Settling.

    def _linger(self) -> None:
        """Short steps that keep coming, and that nothing follows, are settled with what comes within a moment."""
        if not self._waiting and self._may_go_on():
            sites = [site_of(self._desk.engine, done.claimed) for done in self._done]
            if sites and all(site is not None and site.last for site in sites):
                time.sleep(self._appetite.rest())

    def _settle(self) -> bool:
        """Store what was done and go on; whether the queue was asked for more."""
        if not self._desk.board.seal():
            self._give_back()
        with self._settling:
            done, self._done = self._done, []
        if not done:
            return False
        take = self._appetite.wanted(len(self._waiting)) if self._may_go_on() else None
        try:
            settled = _settle(self._desk, done, take)
        except AWAY:
            self._done = done
            raise
        self._waiting.extend(settled.next)
        self._appetite.settled(len(done), take, found=settled.found)
        if settled.queues:
            _dispatch(self._desk, settled.queues)
        return settled.looked

    def show(self) -> None:
        """Called each second by the reporter: results that wait behind a slow call are stored; raises `Unreachable`."""
        with self._settling:
            late = [done for done in self._done if time.monotonic() - done.ended > LATE_SECONDS]
            if not late:
                return
            self._done = [done for done in self._done if done not in late]
            try:
                settled = settle_all(self._desk.engine, late)
            except BaseException:
                self._done = [*late, *self._done]
                raise
        _dispatch(self._desk, settled.queues)


def _dispatch(desk: Desk, queues: Iterable[str]) -> None:
    try:
        dispatch(desk.engine, queues)
    except AWAY as error:
        log.warning("ready steps are left to the coordinator: %s", error)
    except Exception:  # noqa: BLE001 - the step this worker goes on with must not be dropped for others
        log.exception("ready steps are left to the coordinator")


def _perform(desk: Desk, claimed: Claimed) -> Done:
    """Perform the attempt; raises `Unreachable` when its input could not be made for long."""
    live = LiveAttempt(desk.engine, claimed)
    guard = Guard(desk.limits, claimed.token, live, alone=desk.alone, traces=desk.traces)
    desk.reporter.add(claimed.token, live)
    try:
        performed = _prepare_and_call(desk, claimed, live, guard)
    finally:
        guard.clear()
        desk.reporter.remove(claimed.token)
    if desk.limits.stopping and performed.outcome.kind is OutcomeKind.FAILED:
        performed = replace(performed, outcome=Outcome.lost("its worker was stopped while it ran"))
    ended = time.monotonic()
    outcome, input_json = (
        _put_away(desk, claimed, performed) if desk.engine.blobs else (performed.outcome, performed.input_json)
    )
    if desk.traces is not None:
        _trace(desk, desk.traces, claimed, guard.span, outcome)
    return Done(claimed, outcome, input_json, live.close(), guard.took, ended)


def _put_away(desk: Desk, claimed: Claimed, performed: Performed) -> tuple[Outcome, str | None]:
    """What is large is in the blob store before anybody settles; while that is away, results that wait are settled by
    the reporter. An attempt whose values it does not take for long has failed, and may have others."""
    told = False
    for last in tries(max(desk.lease.seconds, PATIENCE_SECONDS)):
        try:
            return put_away(desk.engine, claimed, performed.outcome, performed.input_json)
        except BlobsAway as error:
            if desk.limits.stopping:
                return Outcome.lost("its worker was stopped while the blob store was away"), None
            if last:
                return _given_up(error), None
            if not told:
                about = {"run_id": claimed.run_id, "step_id": claimed.step_id}
                log.warning("step %s waits for the blob store: %s", claimed.step_id, error, extra=about)
            told = True
    raise AssertionError("unreachable")


def _trace(desk: Desk, traces: Attempts, claimed: Claimed, span: AttemptSpan | None, outcome: Outcome) -> None:
    """Tell of the attempt; of one that no function was called for, if it has ended and no coordinator does."""
    if span is not None:
        span.finish(outcome)
        return
    site = site_of(desk.engine, claimed)
    called = site is not None and site.step.function is not None and not desk.engine.calls_celery(site.step)
    if site is not None and called and outcome.kind not in (OutcomeKind.SUSPENDED, OutcomeKind.LOST):
        traces.refused(claimed, site.step, outcome)


def _prepare_and_call(desk: Desk, claimed: Claimed, live: LiveAttempt, guard: Guard) -> Performed:
    for last in tries(max(desk.lease.seconds, PATIENCE_SECONDS)):
        try:
            return perform(desk.engine, claimed, live, step_log, guard, ctrl_c=False)
        except AWAY as error:  # before the function was called: nothing it raises comes out of `perform`
            if last and isinstance(error, BlobsAway):
                return Performed(_given_up(error), None)
            if last:
                raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - must end the step, not the worker
            return Performed(_fault(error, f"step {claimed.step_id} could not be prepared", [claimed]), None)
    raise AssertionError("unreachable")


def _given_up(error: BlobsAway) -> Outcome:
    """Others can do no better, and a retry of the step's is to say when it is tried again."""
    return Outcome.failed(ErrorInfo("BlobsAway", str(error), classes=("BlobsAway", "Unreachable")))


def _settle(desk: Desk, done: Sequence[Done], take: Take | None) -> SettledAll:
    """Store the outcomes, however often it takes; raises `Unreachable` when Postgres is away for long."""
    faults = 0
    for last in tries(max(desk.lease.seconds, PATIENCE_SECONDS)):
        try:
            settled = settle_all(desk.engine, done, take)
        except AWAY:
            if last:
                raise
        except Exception as error:  # noqa: BLE001 - what cannot be stored becomes a failure that can
            faults += 1
            steps = ", ".join(d.claimed.step_id for d in done)
            fault = _fault(error, f"the outcome of step {steps} could not be stored", [d.claimed for d in done])
            if len(done) > 1:
                return _settle_each(desk, done)
            if faults == _TRIES:
                done = [replace(done[0], outcome=fault, input_json=None, lines=[])]
            if faults > _TRIES or last:
                return SettledAll(stale=frozenset({done[0].claimed.step_id}))
        else:
            for step_id in settled.stale:
                log.info("step %s: its claim was lost, what it gave is dropped", step_id, extra={"step_id": step_id})
            return settled
    raise AssertionError("unreachable")


def _settle_each(desk: Desk, done: Sequence[Done]) -> SettledAll:
    """One of them cannot be stored: the others are not to suffer for it."""
    settled = [_settle(desk, [one], None) for one in done]
    return SettledAll(queues=frozenset(queue for one in settled for queue in one.queues))


def _fault(error: BaseException, what: str, of: Sequence[Claimed]) -> Outcome:
    """Tell of a fault that is not the function's, as far as it can be told; the outcome that says the same."""
    told = describe_exception(error)
    with suppress(Exception):  # a handler of the user's may raise, and the attempt must still be settled
        # Not `log.exception`: that prints the exception itself, which may hold one that cannot be printed.
        about = {"run_id": of[0].run_id, "step_id": of[0].step_id} if len(of) == 1 else {}
        log.error("%s\n%s", what, told["traceback"], extra=about)
    info = ErrorInfo("InternalError", f"{told['type']}: {told['message']}", told.get("traceback"), ("InternalError",))
    return Outcome.failed(info, final=True)
