"""The journal in Postgres, for one turn of a function."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.blobs import Blob, about, loads
from orchestrator.domain.codes import DRIVER
from orchestrator.domain.definition import StepKind
from orchestrator.domain.graph import PlanStep
from orchestrator.errors import BlobsAway, ExpressionError
from orchestrator.replay.journal import WAITS, End, Entry, History, Stop, Try, Verb, Yielded
from orchestrator.services.begun import begun_step
from orchestrator.services.blobs import Blobs
from orchestrator.services.cancel_begun import cancel_begun, follow_cancels
from orchestrator.services.claim import Claimed
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.services.patience import PATIENCE_SECONDS, tries
from orchestrator.services.put_away import path_of
from orchestrator.services.scope import RunScope
from orchestrator.store import journal
from orchestrator.store.db import calls_in
from orchestrator.store.journal import NewEntry, Row, Written
from orchestrator.store.transition import as_text


class Canceled(Stop):
    """The run was asked to stop: its function does nothing more."""


class StoredJournal:
    """Writes what the function does. Its claim fences it; in the transaction that suspends it, its row's lock does."""

    def __init__(self, engine: Engine, claimed: Claimed, generation: int) -> None:
        self._engine, self._claimed, self._generation = engine, claimed, generation

    def append(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        entries = [self._put_away(entry) for entry in entries]
        alone = all(entry.body is None for entry in entries)
        if alone:
            written = self._write_alone(entries)
        else:
            with self._engine.db.transaction() as conn:
                written = self._write(conn, entries, self._claimed.token)
        dispatch(self._engine, written.queues | follow_cancels(self._engine, self._claimed, _canceled(entries)))
        return self._read(entries, written)

    def whole(self, value: Any) -> Any:
        return self._engine.blobs.whole(value)

    def _put_away(self, entry: Entry) -> Entry:
        """The entry with a reference for what its step gave, where that is large."""
        blobs = self._engine.blobs
        if not blobs or entry.end is None or entry.verb is not Verb.STEP:
            return entry
        text = as_text(entry.end.value) or ""
        if not blobs.is_large(text):
            return entry
        path = path_of(self._claimed, f"journal-{self._generation}-{entry.position}")
        blob = _put(blobs, path, text, about(entry.end.value))
        return replace(entry, end=replace(entry.end, value=blob))

    def append_within(self, conn: Connection, entries: Sequence[Entry]) -> frozenset[str]:
        """The same in the transaction that has suspended the step; the queues to dispatch after its commit."""
        return self._write(conn, entries, None).queues if entries else frozenset()

    def note_try(self, entry: Entry, failed: Try) -> None:
        new = replace(_new(entry), error=journal.error_text(failed.error))
        claimed = self._claimed
        args = (claimed.step_id, claimed.token, new, failed.number, failed.left, self._generation)
        if not journal.write_try(self._engine.db.call, *args):
            raise Yielded("another worker has the run")

    def _write_alone(self, entries: Sequence[Entry]) -> Written:
        claimed, new = self._claimed, [_new(entry) for entry in entries]
        return journal.write(self._engine.db.call, claimed.run_id, claimed.step_id, claimed.token, new)

    def _write(self, conn: Connection, entries: Sequence[Entry], token: str | None) -> Written:
        making = _Making(self._engine, conn, self._claimed)
        new = [making.row(entry) if entry.verb in WAITS else _new(entry) for entry in entries]
        written = journal.write(calls_in(conn), self._claimed.run_id, self._claimed.step_id, token, new)
        for position in _canceled(entries):
            if written.stored:
                cancel_begun(conn, self._claimed.run_id, position)
        return written

    def _read(self, entries: Sequence[Entry], written: Written) -> Sequence[Entry]:
        if any(entry.position not in written.stored for entry in entries):
            raise Canceled() if written.stopping else Yielded("another worker has the run")
        if written.stopping:
            raise Canceled()
        return [_stored(entry, *written.stored[entry.position]) for entry in entries]


def _put(blobs: Blobs, path: str, text: str, told: str) -> Blob:
    """Patiently: the step is done, and would be done again if its turn ended here. Raises `BlobsAway`."""
    for last in tries(PATIENCE_SECONDS):
        try:
            return blobs.put(path, text, told)
        except BlobsAway:
            if last:
                raise
    raise AssertionError("unreachable")


def _canceled(entries: Iterable[Entry]) -> list[int]:
    return [entry.body["position"] for entry in entries if entry.verb is Verb.CANCEL and entry.body is not None]


class _Making:
    """Makes the rows of steps that are begun together."""

    def __init__(self, engine: Engine, conn: Connection, claimed: Claimed) -> None:
        self._engine, self._claimed = engine, claimed
        self._scope = RunScope(engine, conn, engine.plans.get(conn, claimed.revision_id), claimed.run_id)
        self._scope.literal = True
        self._queues: dict[Any, str] = {}

    def row(self, entry: Entry) -> NewEntry:
        body = {"name": entry.key, **(entry.body or {})}
        step = begun_step(self._engine, body)
        queue, fault = self._claimed.queue, None
        if step.kind is StepKind.FUNCTION:
            try:
                queue = self._queue(PlanStep(entry.position, step, (), (), {}, False))
            except ExpressionError as error:
                fault = as_text({"type": "ExpressionError", "message": str(error)})
        retry = (entry.body or {}).get("retry") or {}
        return replace(
            _new(entry),
            body=as_text(body),
            function=step.function,
            queue=queue,
            priority=step.priority,
            pool=step.pool,
            slots=step.slots,
            tries=retry.get("max_attempts"),
            fault=fault,
        )

    def _queue(self, here: PlanStep) -> str:
        asked = (here.step.function, here.step.queue, here.step.pool, here.step.slots)
        if asked not in self._queues:
            self._queues[asked] = self._scope.queue_of(here)
        return self._queues[asked]


def _new(entry: Entry) -> NewEntry:
    end = entry.end
    return NewEntry(
        position=entry.position,
        verb=entry.verb.value,
        name=entry.name,
        key=entry.key,
        line=entry.line,
        status=end.status if end else None,
        value=as_text(end.value) if end else None,
        error=journal.error_text(end.error) if end else None,
        turn=entry.turn,
    )


def _stored(entry: Entry, status: str | None, value: str | None, error: str | None) -> Entry:
    """The entry as it is stored, which another driver may have written."""
    if status is None:
        return entry
    given = loads(value) if value is not None else None
    return replace(entry, end=End(status, given, json.loads(error) if error is not None else None))


def read_history(rows: Sequence[Row], run_id: str) -> History:
    """The history that the rows of the journal tell, the first being the run."""
    history = History(run_id, rows[0].value, now=rows[0].left)
    for row in rows[1:]:
        if row.position == 0:
            history.input, history.generation = row.value, row.generation
        elif row.part == 0:
            end = End(row.status, row.value, row.error) if row.status is not None else None
            history.add(Entry(row.position, Verb(row.verb), row.name, row.key, row.line or "", end))
        elif row.part == 1:
            history.ends[row.position] = End(row.status or "", row.value, row.error)
        else:
            history.tries[row.position] = Try(row.part - 1, row.error, row.left)
    return history


def what_it_waits_for(history: History, awaited: Sequence[int], pending: Sequence[Entry]) -> dict[str, Any]:
    """For people: the first names of what is awaited."""
    known = history.entries | {entry.position: entry for entry in pending}
    names = [known[position].key for position in awaited[:3]]
    return {"for": "steps", "steps": names, "count": len(awaited), "of": DRIVER}
