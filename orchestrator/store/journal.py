"""The journal of a code-first run, and the step that runs its function (docs/adr/0023)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.ids import new_ids
from orchestrator.store.db import Call
from orchestrator.store.transition import as_text


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry, and the row of the step that it begins, if any: `body` and `fault` are JSON texts, as `value` and
    `error` are; a row with a `fault` has failed with it. `turn`: one of those so many of which are done at a time."""

    position: int
    verb: str
    name: str
    key: str
    line: str
    status: str | None = None
    value: str | None = None
    error: str | None = None
    turn: int | None = None
    body: str | None = None
    function: str | None = None
    queue: str | None = None
    priority: int = 0
    pool: str | None = None
    slots: int = 1
    tries: int | None = None
    fault: str | None = None


_COLUMNS = (
    *("position", "verb", "name", "key", "status", "value", "error", "line", "turn"),
    *("body", "function", "queue", "priority", "pool", "slots", "tries", "fault"),
)
_CASTS = {"priority": "CAST(%s AS smallint[])"} | dict.fromkeys(
    ("position", "turn", "slots", "tries"), "CAST(%s AS int[])"
)


def _call() -> str:
    casts = [_CASTS.get(name, "CAST(%s AS text[])") for name in _COLUMNS]
    casts.insert(_COLUMNS.index("body"), "CAST(%s AS uuid[])")
    return f"""
SELECT "position", status, value, error, queue FROM orchestrator_journal(
  CAST(%s AS uuid), CAST(%s AS uuid), CAST(%s AS uuid), {", ".join(casts)})
"""


_WRITE = _call()


@dataclass(frozen=True, slots=True)
class Written:
    """What is stored now, by position: status, value and error (JSON texts). `queues` have steps to be run.

    `stopping`: the step was asked to come to its end.
    """

    stored: dict[int, tuple[str | None, str | None, str | None]]
    queues: frozenset[str]
    stopping: bool


def write(call: Call, run_id: str, step_id: str, token: str | None, entries: Sequence[NewEntry]) -> Written:
    """Write entries where there are none yet, and begin their steps; nothing when the claim does not hold.

    Without a token the caller's transaction has just suspended the step.
    """
    columns: list[Any] = [[getattr(entry, name) for entry in entries] for name in _COLUMNS]
    columns.insert(_COLUMNS.index("body"), new_ids(len(entries)))
    rows = call(_WRITE, [run_id, step_id, token, *columns])
    return Written(
        stored={row[0]: (row[1], row[2], row[3]) for row in rows if row[0] is not None},
        queues=frozenset(row[4] for row in rows if row[4] is not None),
        stopping=any(row[0] is None and row[1] == "stopping" for row in rows),
    )


_OPENED = text("""
SELECT r.input, w.name AS workflow, s.wait, s.cancel_requested_at IS NOT NULL AS stopping,
  extract(epoch FROM orchestrator_now())::float8 AS now
FROM workflow_run_steps s JOIN workflow_runs r ON r.id = s.run_id
JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
WHERE s.id = :id AND s.claim_token = :token AND s.status = 'running'
""")
_ABSORB = text("""
INSERT INTO workflow_journal (run_id, position, part, verb, name, key, status, value, error, attempt, generation)
SELECT j.run_id, j.position, 1, j.verb, j.name, j.key, s.status, s.output, s.error, :attempt, j.generation
FROM workflow_journal j JOIN workflow_run_steps s ON s.run_id = j.run_id AND s.position = j.position
WHERE j.run_id = :run_id AND j.part = 0 AND j.position > 0 AND j.status IS NULL AND s.finished_at IS NOT NULL
  AND NOT EXISTS (SELECT FROM workflow_journal e WHERE e.run_id = j.run_id AND e.position = j.position AND e.part = 1)
ON CONFLICT DO NOTHING
""")
_READ = text("""
SELECT position, part, verb, name, key, status, value, error, line, generation,
  extract(epoch FROM due_at - orchestrator_now())::float8 AS left
FROM workflow_journal WHERE run_id = :run_id ORDER BY position, part
""")


def open_turn(conn: Connection, step_id: str, token: str) -> Row[Any] | None:
    """What a turn of the function begins with; None when the claim does not hold."""
    return conn.execute(_OPENED, {"id": step_id, "token": token}).first()


def absorb(conn: Connection, run_id: str, attempt: int) -> None:
    """Copy the ends of steps that the function has begun into the journal."""
    conn.execute(_ABSORB, {"run_id": run_id, "attempt": attempt})


def read(conn: Connection, run_id: str) -> Iterable[Row[Any]]:
    """The journal in the order of the program."""
    return conn.execute(_READ, {"run_id": run_id})


_TRY = """
INSERT INTO workflow_journal (run_id, position, part, verb, name, key, status, error, line, attempt, generation, due_at)
SELECT s.run_id, %s, 1 + %s, 'step', %s, %s, 'failed', CAST(%s AS json), %s, s.attempt, %s,
  orchestrator_now() + make_interval(secs => %s)
FROM workflow_run_steps s WHERE s.id = %s AND s.claim_token = %s AND s.status = 'running'
ON CONFLICT DO NOTHING RETURNING position
"""


def write_try(
    call: Call, step_id: str, token: str, entry: NewEntry, number: int, delay: float, generation: int
) -> bool:
    """Write down that a try of a step has failed, fenced; the next is due in `delay` seconds."""
    values = [entry.position, number, entry.name, entry.key, entry.error, entry.line, generation, delay, step_id, token]
    return bool(call(_TRY, values))


_SPARE = text("""
UPDATE workflow_run_steps s SET attempt_base = attempt_base + lost_count, lost_count = 0,
  items_spared = coalesce(s.items_open, 0) - a.open
FROM (
  SELECT count(*) AS open FROM workflow_run_steps o WHERE o.run_id = :run_id AND o.position = ANY(:awaited)
    AND o.status IN ('pending', 'ready', 'queued', 'running', 'waiting')
) a
WHERE s.id = :id RETURNING a.open
""")


def await_ends(conn: Connection, run_id: str, step_id: str, awaited: Sequence[int]) -> bool:
    """Note which steps the function waits for; whether all of them have ended already. The caller has its row.

    A turn that came so far counts no lost one before it.
    """
    values = {"run_id": run_id, "id": step_id, "awaited": list(awaited)}
    return conn.execute(_SPARE, values).scalar_one() == 0 and bool(awaited)


_FORGET = """
WITH begun AS (
  DELETE FROM workflow_run_steps WHERE run_id = :run_id AND position > 0 AND position < 1048576 RETURNING id
), attempts AS (
  DELETE FROM workflow_step_attempts WHERE step_id IN (SELECT id FROM begun)
), lines AS (
  DELETE FROM step_logs WHERE run_id = :run_id AND step_id IN (SELECT id FROM begun)
), entries AS (
  DELETE FROM workflow_journal WHERE run_id = :run_id
)
UPDATE workflow_run_steps SET items_open = 0, items_spared = 0, items_first = NULL, items_next = NULL,
  items_free = NULL, attempt_base = attempt_base + lost_count, lost_count = 0 WHERE id = :id
"""
_ANEW = """
INSERT INTO workflow_journal (run_id, position, part, verb, name, key, status, value, attempt, generation)
SELECT run_id, 0, 0, 'continue', 'continue', 'continue', 'succeeded', CAST(:input AS json), attempt, :generation
FROM workflow_run_steps WHERE id = :id
"""


def begin_anew(conn: Connection, run_id: str, step_id: str, generation: int, input_json: str) -> None:
    """Empty the journal, and forget what the function has begun; its next generation has this input."""
    conn.execute(text(_FORGET), {"run_id": run_id, "id": step_id})
    conn.execute(text(_ANEW), {"id": step_id, "generation": generation, "input": input_json})


def error_text(error: Any) -> str | None:
    """An error's JSON text."""
    return as_text(dict(error)) if error else None
