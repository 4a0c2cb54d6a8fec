"""The attempt of the step that runs a function: a turn of it, on the journal in Postgres (docs/adr/0023)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from orchestrator.context import AttemptLink
from orchestrator.domain.codes import WorkflowSpec
from orchestrator.domain.masking import NOTHING_SECRET
from orchestrator.domain.near import did_you_mean
from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.errors import Locked, Unreachable
from orchestrator.functions import make_spec
from orchestrator.replay.journal import Broken, Continued, History, Suspended
from orchestrator.replay.play import Raised, Returned, Turn, play
from orchestrator.replay.stored import Canceled, StoredJournal, read_history, what_it_waits_for
from orchestrator.services.claim import Claimed, Prepared, failed
from orchestrator.services.engine import Engine
from orchestrator.services.kinds.half import LOST
from orchestrator.services.perform import Performed, outcome_of
from orchestrator.store import journal

Guard = Callable[[Prepared], AbstractContextManager[object]]


def drive(
    engine: Engine, claimed: Claimed, link: AttemptLink, log: logging.Logger, guard: Guard, *, ctrl_c: bool
) -> Performed:
    """Play a turn of the function. `guard` and `ctrl_c` as `perform` has them."""
    rows = journal.read(engine.db, claimed.step_id, claimed.token)
    if not rows:
        return Performed(LOST, None)
    if rows[0].status is not None:
        return Performed(Outcome(OutcomeKind.CANCELED), None)
    spec = engine.functions.workflows.get(rows[0].name)
    if spec is None:
        return Performed(_unknown(engine, rows[0].name), None)
    engine.tally.count("turns")
    turn = _Turn(engine, claimed, rows[0].name, spec, read_history(rows, claimed.run_id))
    try:
        return Performed(turn.play(link, log, guard), None)
    except KeyboardInterrupt as error:
        if ctrl_c:
            raise
        return Performed(outcome_of(error, None), None)


def _unknown(engine: Engine, name: str) -> Outcome:
    near = did_you_mean(name, [spec.name for spec in engine.functions.workflows])
    where = "a worker's workflows come from the modules in ORCHESTRATOR_FUNCTIONS"
    return failed("UnknownWorkflow", f"the function of workflow '{name}' is not known here{near} ({where})")


@dataclass(slots=True)
class _Turn:
    engine: Engine
    claimed: Claimed
    workflow: str
    spec: WorkflowSpec
    history: History
    queues: frozenset[str] = frozenset()

    def play(self, link: AttemptLink, log: logging.Logger, guard: Guard) -> Outcome:
        stored = StoredJournal(self.engine, self.claimed, self.history.generation)
        try:
            with guard(self._prepared()):
                turn = play(
                    self.spec.call,
                    self.history,
                    stored,
                    link,
                    log,
                    workflow=self.workflow,
                    attempt=self.claimed.attempt,
                    max_bytes=self.engine.settings.max_output_bytes,
                    most_given=self.engine.most_bytes,
                )
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the guard's own, or what its signal raised in the function
            return outcome_of(error, self.spec.turn_timeout)
        return self._outcome(turn, stored)

    def _prepared(self) -> Prepared:
        """What the guard needs to know of the call."""
        step = self.engine.plan(self.claimed.revision_id).at(self.claimed.position).step
        spec = make_spec(self.spec.call, self.spec.name)
        return Prepared(self.claimed, step, spec, {}, "null", self.spec.turn_timeout, NOTHING_SECRET)

    def _outcome(self, turn: Turn, stored: StoredJournal) -> Outcome:
        match turn:
            case Returned(value, text):
                return Outcome.succeeded(value, text)
            case Raised(error, final):
                classes = tuple(error["classes"])
                info = ErrorInfo(error["type"], error["message"], error.get("traceback"), classes)
                return Outcome.failed(info, final=final)
            case Suspended():
                return self._suspended(turn, stored)
            case Continued():
                return Outcome.suspended({"for": "turn"}, also=lambda conn: self._anew(conn, turn))
            case Broken(error=(Unreachable() | Locked()) as error):
                raise error  # the function is replayed once Postgres is there again
            case Broken():
                return Outcome.lost(str(turn))
            case Canceled():
                return Outcome(OutcomeKind.CANCELED)
            case _:
                return LOST

    def _suspended(self, turn: Suspended, stored: StoredJournal) -> Outcome:
        def also(conn: Connection) -> bool:
            self.queues = stored.append_within(conn, turn.pending)
            return journal.await_ends(conn, self.claimed.run_id, self.claimed.step_id, turn.awaited)

        if turn.seconds is None:
            wait = what_it_waits_for(self.history, turn.awaited, turn.pending)
        else:
            wait = {"for": "time", "until": (datetime.now(UTC) + timedelta(seconds=turn.seconds)).isoformat()}
        return Outcome.suspended(wait, turn.seconds, also, lambda: self.queues)

    def _anew(self, conn: Connection, turn: Continued) -> bool:
        journal.begin_anew(conn, self.claimed.run_id, self.claimed.step_id, turn.input_json)
        return True
