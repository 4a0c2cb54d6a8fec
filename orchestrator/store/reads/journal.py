"""What the function of a code-first run did, in the order of its program (docs/adr/0023)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.done import Begun
from orchestrator.errors import unknown_run
from orchestrator.ids import is_id
from orchestrator.store.reads.page import Page, iso, number_cursor, page_of
from orchestrator.store.reads.secrets import RunSecrets, load_secrets
from orchestrator.store.reads.steps import child_schemas, own_output
from orchestrator.store.reads.whole import Read, read_whole

# An end that the function has not seen yet is that of its step. A step that is tried again has rows of its tries only.
_LIST = text("""
SELECT j.position, j.verb, j.name, j.key, j.line, t.tries, t.due_at AS next_try_at,
  coalesce(e.status, j.own_status, CASE WHEN s.finished_at IS NOT NULL THEN s.status END) AS status,
  coalesce(e.value, j.value, s.output) AS output, k.child_revision_id,
  coalesce(e.error, j.own_error, s.error, t.error) AS error,
  j.at, CASE WHEN j.own_status IS NOT NULL THEN j.at ELSE coalesce(s.finished_at, e.at) END AS ended_at
FROM (
  SELECT DISTINCT ON (position) position, part, verb, name, key, line, value, at,
    CASE WHEN part = 0 THEN status END AS own_status, CASE WHEN part = 0 THEN error END AS own_error
  FROM workflow_journal WHERE run_id = :run_id AND position > :after AND part <> 1 ORDER BY position, part
  LIMIT :limit
) j
LEFT JOIN workflow_journal e ON e.run_id = :run_id AND e.position = j.position AND e.part = 1
LEFT JOIN workflow_run_steps s ON s.run_id = :run_id AND s.position = j.position AND j.own_status IS NULL
LEFT JOIN LATERAL (
  SELECT c.revision_id AS child_revision_id
  FROM workflow_children w JOIN workflow_runs c ON c.id = w.child_run_id
  WHERE j.verb = 'child' AND w.parent_step_id = s.id ORDER BY w.attempt DESC LIMIT 1
) k ON true
LEFT JOIN LATERAL (
  SELECT count(*) AS tries, max(due_at) AS due_at, CAST((array_agg(CAST(error AS text) ORDER BY part DESC))[1] AS json)
    AS error
  FROM workflow_journal WHERE run_id = :run_id AND position = j.position AND part > 1 AND j.verb = 'step'
) t ON true
ORDER BY j.position
""")


def list_journal(
    conn: Connection,
    run_id: str,
    after: str | int | None = None,
    limit: int = 100,
    *,
    secrets: RunSecrets | None = None,
    read: Read | None = None,
) -> Page:
    """A page of the entries of the run's last generation, in the order of the program, their values as `read` gives
    them; none of a declarative run."""
    values = {"run_id": run_id, "after": number_cursor(after) or 0, "limit": limit + 1}
    rows = [read_whole(row, read) for row in conn.execute(_LIST, values)]
    hidden = load_secrets(conn, run_id) if secrets is None else secrets
    schemas = child_schemas(conn, rows)
    return page_of(rows, limit, lambda row: _shape(row, hidden, schemas), lambda row: str(row.position))


def _shape(row: Any, secrets: RunSecrets, schemas: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    return {
        "position": row.position,
        "verb": row.verb,
        "name": row.name,
        "key": row.key,
        "line": row.line or None,
        "status": row.status,
        "output": secrets.show(own_output(row, schemas)),
        "error": secrets.show(row.error),
        "tries": row.tries,
        "next_try_at": iso(row.next_try_at) if row.status is None else None,
        "at": iso(row.at),
        "ended_at": iso(row.ended_at) if row.status is not None else None,
    }


_HEAD = text("""
SELECT r.id AS run_id, w.name AS workflow, v.document ->> 'version' AS version,
  v.document -> 'steps' -> 0 ->> 'code' AS code, r.status, r.input AS first_input, j.value AS input, j.generation
FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id JOIN workflows w ON w.id = v.workflow_id
LEFT JOIN workflow_journal j ON j.run_id = r.id AND j.position = 0 AND j.part = 0
WHERE r.id = :run_id
""")


def journal_head(conn: Connection, run_id: str, secrets: RunSecrets | None = None) -> dict[str, Any]:
    """What the journal belongs to, and the input of its generation; raises `NotFound`. `code` is null of a declarative
    run."""
    row = conn.execute(_HEAD, {"run_id": run_id}).first() if is_id(run_id) else None
    if row is None:
        raise unknown_run(run_id)
    hidden = load_secrets(conn, run_id) if secrets is None else secrets
    names = ("workflow", "version", "code", "status")
    input = hidden.show_input(row.first_input) if row.generation is None else hidden.show(row.input)
    told = {name: getattr(row, name) for name in names}
    return {"run_id": str(row.run_id), **told, "generation": row.generation or 0, "input": input}


_BEGUN = text("""
SELECT DISTINCT ON (j.position) j.position, j.verb, j.key AS name, j.at,
  CASE WHEN j.verb = 'step' THEN CASE WHEN j.part = 0 THEN j.at END ELSE s.finished_at END AS ended_at
FROM workflow_journal j
LEFT JOIN workflow_run_steps s ON s.run_id = j.run_id AND s.position = j.position AND j.verb <> 'step'
WHERE j.run_id = :run_id AND j.position > 0 AND j.part <> 1 AND j.verb IN ('step', 'call', 'child', 'sleep', 'event')
ORDER BY j.position, j.part LIMIT :limit
""")


def list_begun(conn: Connection, run_id: str, limit: int = 20_000) -> list[Begun]:
    """What the function began, in the order of the program, and when that ended."""
    return [Begun(**row._mapping) for row in conn.execute(_BEGUN, {"run_id": run_id, "limit": limit})]
