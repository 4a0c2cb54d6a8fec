"""Worker processes and the functions they know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.store.db import Database
from orchestrator.store.transition import as_text


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker (or beat) process as it announces itself; a beat says whether it hears NOTIFY."""

    id: str
    kind: str
    host: str
    pid: int
    queues: Sequence[str]
    concurrency: int
    pool: str | None
    version: str
    listening: bool | None = None  # of a beat


_SEEN = text("""
INSERT INTO workers (id, kind, host, pid, queues, concurrency, pool, version, listening)
VALUES (:id, :kind, :host, :pid, :queues, :concurrency, :pool, :version, :listening)
ON CONFLICT (id) DO UPDATE SET seen_at = orchestrator_now(), queues = excluded.queues,
  concurrency = excluded.concurrency, listening = excluded.listening, stopped_at = NULL
""")


def announce(conn: Connection, worker: WorkerInfo) -> None:
    """Say that the worker is alive now."""
    values = {name: getattr(worker, name) for name in WorkerInfo.__slots__}
    conn.execute(_SEEN, values | {"queues": list(worker.queues)})


# Lost with the commit, it is said again.
_ALIVE = """
WITH lazy AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
UPDATE workers SET seen_at = orchestrator_now(), queues = %s, concurrency = %s, listening = %s, stopped_at = NULL
FROM lazy WHERE id = %s RETURNING id
"""


def keep_alive(db: Database, worker: WorkerInfo) -> bool:
    """Say in one round trip that an announced worker is still alive; False when it is not announced."""
    return bool(db.call(_ALIVE, [list(worker.queues), worker.concurrency, worker.listening, worker.id]))


def count_slots(db: Database, queue: str) -> int:
    """How many functions the workers of a queue run at a time; workers not seen for a minute do not count."""
    return int(db.call(_SLOTS, [queue])[0][0])


_SLOTS = """
SELECT coalesce(sum(concurrency), 0) FROM workers
WHERE kind = 'worker' AND stopped_at IS NULL AND seen_at > orchestrator_now() - interval '1 minute'
  AND %s = ANY (queues)
"""


def mark_stopped(conn: Connection, worker_id: str) -> None:
    """Say that the worker left in good order."""
    conn.execute(text("UPDATE workers SET stopped_at = orchestrator_now() WHERE id = :id"), {"id": worker_id})


_FORGET = text("DELETE FROM workers WHERE seen_at < orchestrator_now() - make_interval(secs => :after)")


def forget_gone(conn: Connection, after: float) -> None:
    """Drop workers not seen for `after` seconds."""
    conn.execute(_FORGET, {"after": after})


_FUNCTION = text("""
INSERT INTO functions (name, module, queue, description, input_schema, retry)
VALUES (:name, :module, :queue, :description, CAST(:input_schema AS json), CAST(:retry AS json))
ON CONFLICT (name) DO UPDATE SET module = excluded.module, queue = excluded.queue, description = excluded.description,
  input_schema = excluded.input_schema, retry = excluded.retry, seen_at = orchestrator_now()
""")


def announce_functions(conn: Connection, functions: Sequence[dict[str, Any]]) -> None:
    """Store what functions a worker can run: dicts of name, module, queue, description, input_schema, retry."""
    for spec in sorted(functions, key=lambda f: str(f["name"])):
        conn.execute(_FUNCTION, spec | {key: as_text(spec.get(key)) for key in ("input_schema", "retry")})


def announced_functions(conn: Connection) -> set[str]:
    """The names of all functions that workers have announced."""
    return set(conn.execute(text("SELECT name FROM functions")).scalars())


def load_announced(conn: Connection) -> list[Row[Any]]:
    """Name, queue and retry of every function that workers have announced."""
    return list(conn.execute(text("SELECT name, queue, retry FROM functions ORDER BY name")))


def queue_of_function(conn: Connection, name: str) -> str | None:
    """The queue a worker announced for a function this process does not know itself."""
    return conn.execute(text("SELECT queue FROM functions WHERE name = :name"), {"name": name}).scalar()
