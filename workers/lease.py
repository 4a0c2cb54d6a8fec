"""The Keeper: one thread of a worker's parent process that looks after all attempts its processes run.

It renews their leases in one statement, sees the death of a process at once and settles what it had begun as lost,
gives to others what waits behind a slow call in a process' hand, interrupts attempts whose claim no longer holds, and
kills what does not end. It works while user code holds the interpreter in a child, and rides out an outage of Postgres.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.domain.outcome import Outcome
from orchestrator.errors import Locked, Unreachable
from orchestrator.services.claim import release
from orchestrator.services.dispatch import dispatch
from orchestrator.services.end_for import end_for
from orchestrator.services.engine import Engine
from orchestrator.store import held, lease
from workers.announce import Announcer
from workers.board import Attempt, Board, Entry, Gone
from workers.exits import Exits
from workers.limits import INTERRUPT
from workers.logs import uncaptured
from workers.outage import Outage
from workers.telling import Telling

log = logging.getLogger("orchestrator.worker")
_STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How the Keeper works; seconds. `renew`: between two renewals of the leases. `grace`: from asking an attempt
    to end, or from its timeout, to killing its process. `look`: between two looks at everything. `slow`: how long a
    call may keep others of its process' hand waiting. `idle`: between two looks while no attempt is held.
    """

    renew: float
    grace: float
    look: float
    young: float = 1.0  # an attempt is looked up between renewals when it is older
    slow: float = 0.05
    idle: float = 1.0


@dataclass(frozen=True, slots=True)
class Power:
    """What can be done to an attempt: signal its function, kill its process."""

    interrupt: bool
    kill: bool


class Keeper:
    """Looks after the attempts on `board`; `start` runs it in a thread of its own."""

    def __init__(
        self,
        engine: Engine,
        board: Board,
        pace: Pace,
        power: Power,
        announcer: Announcer,
        exits: Exits,
        telling: Telling | None = None,
    ) -> None:
        self._engine, self._board, self._pace, self._power = engine, board, pace, power
        self._announcer, self._exits, self._telling = announcer, exits, telling or Telling(engine)
        self._renew_at = self._check_at = 0.0
        self._asked: dict[str, float] = {}
        self._killed: dict[int, Outcome] = {}
        self._handed_on: set[str] = set()  # slow calls behind which nothing waits any more
        self._outage = Outage(log, "keeping leases")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orchestrator-keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Look once more, say goodbye, and end the thread."""
        self._stopping.set()
        self._board.rouse()
        self._thread.join(_STOP_SECONDS)
        self._safely(self.look)
        with self._outage.ridden_out():
            self._announcer.leave()
        self._telling.last_if_possible()
        self._engine.db.close()

    def _run(self) -> None:
        uncaptured()
        look_at = 0.0
        while not self._stopping.is_set():
            self._safely(self.hand_on)
            if time.monotonic() >= look_at:
                self._safely(self.look)
                look_at = time.monotonic() + self._pace.look
            self._board.rest(busy=min(self._pace.slow, self._pace.look), idle=self._pace.idle)

    def _safely(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Locked as error:
            log.warning("what the keeper was at is left to its next look: %s", error)
        except Exception:  # noqa: BLE001 - leases must be kept whatever goes wrong once
            log.exception("the keeper failed once; it goes on")

    def hand_on(self) -> None:
        """Give to others what waits in a process behind a call that turned out slow."""
        slow = time.monotonic() - self._pace.slow
        calls = [entry for entry in self._board.running() if entry.calling and entry.since < slow]
        for entry in calls:
            if entry.token not in self._handed_on:
                with self._outage.ridden_out():
                    self._give_back(self._board.take_back(entry))
        self._handed_on = {entry.token for entry in calls}

    def _give_back(self, attempts: Sequence[Attempt]) -> None:
        dispatch(self._engine, release(self._engine, attempts))

    def look(self) -> None:
        """One look at everything. Killing needs no database, and comes first."""
        self._exits.look()
        self._end_overdue(self._board.running())
        with self._outage.ridden_out():
            for process in self._board.gone():
                self._bury(process)
            self._renew(self._board.running())
            self._announcer.announce()
            self._telling.show()

    def _bury(self, process: Gone) -> None:
        """What a dead process held ends now, instead of when its lease runs out."""
        self._give_back([(entry.step_id, entry.token) for entry in process.entries if not entry.begun])
        for entry in process.entries:
            if entry.begun:
                self._lose_safely(entry)
        self._killed.pop(process.pid, None)
        self._board.forget(process.pid)

    def _lose_safely(self, entry: Entry) -> None:
        try:
            self._lose(entry)
        except Unreachable:
            raise
        except Exception:  # noqa: BLE001 - one attempt must not keep the others from their leases
            log.exception("step %s is left to its lease", entry.step_id, extra={"step_id": entry.step_id})

    def _lose(self, entry: Entry) -> None:
        killed = self._killed.get(entry.pid) if entry.calling else None
        outcome = killed or Outcome.lost(self._told(entry.pid))
        if end_for(self._engine, entry.step_id, entry.token, outcome):
            told = "pool process %d died while it ran step %s"
            log.warning(told, entry.pid, entry.step_id, extra={"step_id": entry.step_id})

    def _told(self, pid: int) -> str:
        return f"its pool process {pid} died ({self._exits.how(pid)})"

    def _renew(self, entries: Sequence[Entry]) -> None:
        now = time.monotonic()
        if entries and now >= self._renew_at:
            self._extend(entries)
        elif now >= self._check_at:
            self._check([e for e in entries if e.calling and now - e.since > self._pace.young])
            self._check_at = now + self._pace.young

    def _extend(self, entries: Sequence[Entry]) -> None:
        """Extend the leases; what another transaction has locked at this moment is extended soon after."""
        attempts = [(e.step_id, e.token) for e in entries]
        with self._engine.db.transaction(lazy=True) as conn:
            extended = lease.heartbeat(conn, attempts, self._engine.settings.lease)
            others = [attempt for attempt in attempts if attempt[1] not in extended]
            locked = held.still_held(conn, others) if others else set()
        self._renew_at = time.monotonic() + (min(self._pace.young, self._pace.renew) if locked else self._pace.renew)
        self._ask_to_end({e.token for e in entries} - extended - locked)

    def _check(self, entries: Sequence[Entry]) -> None:
        """See a forced cancel soon, without writing."""
        if not entries:
            return
        with self._engine.db.transaction(lazy=True) as conn:
            holding = held.still_held(conn, [(e.step_id, e.token) for e in entries])
        self._ask_to_end({e.token for e in entries} - holding)

    def _ask_to_end(self, lost: set[str]) -> None:
        for entry in self._board.running():  # looked at anew: most have just ended of themselves
            if entry.token not in lost or not entry.calling or entry.token in self._asked:
                continue
            self._asked[entry.token] = time.monotonic()
            self._board.ask(entry)
            if self._power.interrupt:
                _note(entry, "its function is interrupted")
                _send(entry.pid, INTERRUPT)
            else:
                _note(entry, "what its function gives is dropped")

    def _end_overdue(self, entries: Sequence[Entry]) -> None:
        """Kill the processes of attempts that did not end when they were asked to, or at their timeout."""
        now = time.monotonic()
        self._asked = {e.token: self._asked[e.token] for e in entries if e.token in self._asked}
        for entry in entries:
            if not self._power.kill or not entry.calling or entry.pid in self._killed:
                continue
            if entry.deadline is not None and now > entry.deadline + self._pace.grace:
                self._kill(entry, Outcome.timed_out(entry.timeout or 0.0), "outlived its timeout")
            elif now > self._asked.get(entry.token, now) + self._pace.grace:
                self._kill(entry, Outcome.lost("it was killed after its claim was lost"), "did not end when asked")

    def _kill(self, entry: Entry, outcome: Outcome, why: str) -> None:
        about = {"step_id": entry.step_id}
        log.warning("step %s %s; pool process %d is killed", entry.step_id, why, entry.pid, extra=about)
        self._killed[entry.pid] = outcome
        if entry.pid != os.getpid():
            _send(entry.pid, signal.SIGKILL)


def _note(entry: Entry, what: str) -> None:
    log.info("step %s is no longer this worker's; %s", entry.step_id, what, extra={"step_id": entry.step_id})


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        log.debug("process %d is gone already", pid)
