"""The journal of a code-first run, and the step that runs its function (docs/adr/0023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from orchestrator.ids import new_ids
from orchestrator.store.db import Call, Database
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


_HISTORY = """
SELECT "position", part, verb, name, key, status, value, error, line, generation, "left"
FROM orchestrator_history(%s, %s)
"""


class Row(NamedTuple):
    """A part of the journal; the first row, at position -1, is the run: its input, workflow, `stopping`, the time."""

    position: int
    part: int
    verb: str
    name: str
    key: str
    status: str | None
    value: Any
    error: Any
    line: str | None
    generation: int
    left: float


def read(db: Database, step_id: str, token: str) -> list[Row]:
    """What a turn of the function begins with, in the order of the program; nothing when the claim does not hold."""
    return [Row(*row) for row in db.call(_HISTORY, [step_id, token])]


_TRY = """
INSERT INTO workflow_journal (run_id, position, part, verb, name, key, status, error, line, attempt, generation, due_at)
SELECT s.run_id, %s, 1 + %s, 'step', %s, %s, 'failed', CAST(%s AS json), %s, s.attempt, %s,
  orchestrator_now() + make_interval(secs => %s)
FROM workflow_run_steps s WHERE s.id = %s AND s.claim_token = %s AND s.status = 'running'
FOR UPDATE OF s
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


def begin_anew(conn: Connection, run_id: str, step_id: str, input_json: str) -> None:
    """Empty the journal, and forget what the function has begun; its next generation has this input."""
    anew = text("SELECT orchestrator_continue(:run_id, :id, :input)")
    conn.execute(anew, {"run_id": run_id, "id": step_id, "input": input_json})


def error_text(error: Any) -> str | None:
    """An error's JSON text."""
    return as_text(dict(error)) if error else None
