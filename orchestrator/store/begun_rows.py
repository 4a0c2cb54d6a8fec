"""Steps that a function has begun, counted on the row of the step that runs it."""

from __future__ import annotations

from sqlalchemy import Connection, text

from orchestrator.domain.items import FIRST_ITEM
from orchestrator.domain.states import STEP_OPEN
from orchestrator.store.tables import one_of

_RECOUNT = text(f"""
UPDATE workflow_run_steps s SET items_stop = NULL, items_open = (
  SELECT count(*) FROM workflow_run_steps o WHERE o.run_id = :run_id AND o.position > 0 AND o.position < {FIRST_ITEM}
    AND o.status IN {one_of(STEP_OPEN)})
WHERE s.run_id = :run_id AND s.position = 0
""")


def recount(conn: Connection, run_id: str) -> None:
    """Count the open ones afresh, after many were changed; what was noted about stopping them is carried out."""
    conn.execute(_RECOUNT, {"run_id": run_id})


# What the function went on after, having seen it fail, stays as it is: it has dealt with it. `now` and `patched` are no
# going on, and are asked for anew.
_AGAIN = text("""
WITH last AS (
  SELECT coalesce(max(seq), 0) AS seq FROM workflow_journal
  WHERE run_id = :run_id AND part = 0 AND position > 0 AND verb NOT IN ('now', 'patch')
), again AS (
  SELECT j.position, j.part, j.seq FROM workflow_journal j, last
  WHERE j.run_id = :run_id AND j.part < 2 AND j.position > 0 AND j.status IN ('failed', 'canceled')
    AND j.seq >= last.seq
    AND NOT EXISTS (SELECT FROM workflow_journal c WHERE c.run_id = :run_id AND c.part = 0 AND c.verb = 'cancel'
      AND c.name = left('cancel ' || j.key, 255))
)
DELETE FROM workflow_journal j USING again a
WHERE j.run_id = :run_id AND (j.position = a.position AND (j.part = a.part OR a.part = 0)
  OR j.verb IN ('now', 'patch') AND j.part = 0 AND j.seq > a.seq)
""")
_TO_OPEN = text(f"""
SELECT s.position, CAST(s.item -> 'retry' ->> 'max_attempts' AS int) AS tries FROM workflow_run_steps s
WHERE s.run_id = :run_id AND s.position > 0 AND s.position < {FIRST_ITEM} AND s.status IN ('failed', 'canceled')
  AND (SELECT e.part FROM workflow_journal e
    WHERE e.run_id = s.run_id AND e.position = s.position AND e.part = 1) IS NULL
  AND NOT EXISTS (SELECT FROM workflow_journal c
    WHERE c.run_id = s.run_id AND c.part = 0 AND c.verb = 'cancel' AND c.name = left('cancel ' || s.name, 255))
""")


def forget_failures(conn: Connection, run_id: str) -> None:
    """Take out of the journal the failures that the function has not gone on after."""
    conn.execute(_AGAIN, {"run_id": run_id})


def to_open(conn: Connection, run_id: str) -> dict[int, int | None]:
    """The positions of steps that failed or were canceled and of whose end the function does not know, each with its
    `max_attempts`."""
    return {row.position: row.tries for row in conn.execute(_TO_OPEN, {"run_id": run_id})}


_IN_TURN = text("""
UPDATE workflow_run_steps SET items_first = :first, items_next = :first, items_free = coalesce(items_free, 1 << 20)
WHERE run_id = :run_id AND position = 0
""")
_BEGIN = text("SELECT queue FROM orchestrator_begin_calls(:run_id, 0)")


def begin(conn: Connection, run_id: str, first: int) -> set[str]:
    """Begin the pending ones from the position `first` on; the queues concerned."""
    conn.execute(_IN_TURN, {"run_id": run_id, "first": first})
    return set(conn.execute(_BEGIN, {"run_id": run_id}).scalars())


_KNOWN = text("""
SELECT EXISTS (SELECT FROM workflow_journal WHERE run_id = :run_id AND position = :position AND part = 1)
""")


def is_known(conn: Connection, run_id: str, position: int) -> bool:
    """Whether the function knows of the end of the step that it has begun there."""
    return bool(conn.execute(_KNOWN, {"run_id": run_id, "position": position}).scalar_one())


_POSITION = text(f"""
SELECT position FROM workflow_run_steps WHERE run_id = :run_id AND name = :name AND position > 0
  AND position < {FIRST_ITEM}
ORDER BY position LIMIT 1
""")


def find_begun(conn: Connection, run_id: str, name: str) -> int | None:
    """The position of the step of this name that the function has begun."""
    found: int | None = conn.execute(_POSITION, {"run_id": run_id, "name": name}).scalar()
    return found
