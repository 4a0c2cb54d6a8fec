"""End attempts by the answers of the plain Celery tasks they called."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Row

from orchestrator.domain.celery_task import PREFIX, Announced, Answer, read_message
from orchestrator.domain.describe import clean_text
from orchestrator.domain.expressions import compile_template
from orchestrator.domain.masking import Masker
from orchestrator.domain.outcome import ErrorInfo, Keep, Outcome
from orchestrator.domain.values import storable
from orchestrator.errors import Locked, TooLarge, Unreachable, UnstorableValue
from orchestrator.ids import is_id
from orchestrator.services.claim import claimed_from
from orchestrator.services.engine import Engine
from orchestrator.services.perform import masked
from orchestrator.services.settle_all import Done, SettledAll, settle_all
from orchestrator.store import answer_transition, celery_calls, workers
from orchestrator.store.db import Database
from orchestrator.store.transition import Lease

log = logging.getLogger("orchestrator.worker")
_MOST_TEXT = 20_000
_MODULE = "a Celery worker"


@dataclass(frozen=True, slots=True)
class Taken:
    """`done`: attempts that are over by these answers, to be settled. `early`: tokens of answers that are to be looked
    at again, since their step does not wait yet, or a worker has it in its hands. All others came too late."""

    done: tuple[Done, ...]
    early: frozenset[str]


def understood(name: str, args: Sequence[Any]) -> Answer | Announced:
    """A message of the queue of answers; raises `ValueError` for what is none."""
    read = read_message(name, args)
    if isinstance(read, Answer) and not (is_id(read.step_id) and is_id(read.token)):
        raise ValueError("an answer for no step")
    return read


def take_answers(engine: Engine, answers: Sequence[Answer], lease: Lease) -> Taken:
    """Claim the attempts that wait for these answers; the first of two for one attempt counts."""
    by_token = {answer.token: answer for answer in reversed(answers)}
    wanted = [(answer.step_id, answer.token) for answer in by_token.values()]
    with engine.db.transaction() as conn:
        rows = answer_transition.take_answered(conn, wanted, lease)
        gone = {row.call for row in rows}
        early = celery_calls.find_called(conn, [pair for pair in wanted if pair[1] not in gone])
    return Taken(tuple(Done(claimed_from(row), _outcome(engine, row, by_token[row.call])) for row in rows), early)


def settle_answered(engine: Engine, done: Sequence[Done]) -> SettledAll:
    """Settle them. One that cannot be stored fails, and keeps no other waiting.

    Raises `Unreachable`; calling again does no harm.
    """
    try:
        return settle_all(engine, done)
    except (Unreachable, Locked):
        raise
    except Exception as error:
        if len(done) > 1:
            return _together([settle_answered(engine, [one]) for one in done])
        claimed = done[0].claimed
        about = {"run_id": claimed.run_id, "step_id": claimed.step_id}
        log.exception("the answer for step %s could not be stored", claimed.step_id, extra=about)
        fault = ErrorInfo("InternalError", f"{type(error).__name__}: {error}"[:1000], classes=("InternalError",))
        return settle_all(engine, [Done(claimed, Outcome.failed(fault, final=True))])


def _together(settled: Sequence[SettledAll]) -> SettledAll:
    queues = frozenset(queue for one in settled for queue in one.queues)
    return SettledAll(queues=queues, stale=frozenset(step_id for one in settled for step_id in one.stale))


def _outcome(engine: Engine, row: Row[Any], answer: Answer) -> Outcome:
    step = engine.plan(row.revision_id).at(row.position).step
    echoes = "secrets" in compile_template(step.input).references.roots
    outcome = masked(_told(engine, answer), Masker(engine.secrets.values() if echoes else ()))
    return replace(outcome, keep=Keep(**row.keep) if row.keep else None)


def _told(engine: Engine, answer: Answer) -> Outcome:
    if answer.error is not None:
        return Outcome.failed(_error(answer.error))
    try:
        value, text = storable(answer.result, max_bytes=engine.most_bytes)
    except UnstorableValue as error:
        message = f"what the task returned cannot be stored: {error}"
        message += f" ({engine.limit_in_words})" if isinstance(error, TooLarge) else ""
        return Outcome.failed(ErrorInfo("UnstorableValue", message, classes=("UnstorableValue",)), final=True)
    return Outcome.succeeded(value, text)


def _error(told: Mapping[str, Any]) -> ErrorInfo:
    kind = clean_text(told["type"], 200)
    traceback = told.get("traceback")
    return ErrorInfo(
        kind,
        clean_text(told["message"], _MOST_TEXT),
        clean_text(traceback, _MOST_TEXT) if traceback else None,
        tuple(clean_text(name, 200) for name in told.get("classes") or (kind,))[:50],
    )


def announce_tasks(db: Database, announced: Sequence[Announced]) -> None:
    """Store what tasks the workers of a Celery project have, as functions."""
    tasks = {task["name"]: task for one in announced for task in one.tasks}
    if tasks:
        with db.transaction() as conn:
            workers.announce_functions(conn, [_function(task) for task in tasks.values()])


def _function(task: Mapping[str, Any]) -> dict[str, Any]:
    told = {key: clean_text(task[key], 500) if task[key] else None for key in ("queue", "description")}
    return told | {"name": PREFIX + clean_text(task["name"], 500), "module": _MODULE}
