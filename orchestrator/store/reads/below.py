"""Some of the runs below others, those first that are open: for a live view, at a cost that is bounded for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from orchestrator.domain.states import RUN_TERMINAL, STEP_OPEN, RunStatus, StepStatus
from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.tables import one_of

MOST_COUNTED = 10_000
_LOOKED_AT = 200  # of a run's open steps and items in their order, and of its children, newest first


@dataclass(frozen=True, slots=True)
class Below:
    """A run that a step of another started. `under`: the position of that step; `item`: the index of its item.

    `at`: the first step it is at, with its status; `ended` of its `steps` have ended.
    """

    id: str
    parent: str
    under: int | None
    step: str | None
    item: int | None
    workflow: str
    status: RunStatus
    started_at: datetime | None
    finished_at: datetime | None
    error_type: str | None
    error_step: str | None
    ended: int
    steps: int
    at: str | None
    at_status: StepStatus | None


# The oldest of what is open is what a person looks for, the newest is what is going on. Runs are fetched one by one
# (`OFFSET 0` keeps them from being joined): by statistics, reading all of them would seem as good.
_SOME = f"""
SELECT CAST(o.wait ->> 'run_id' AS uuid) AS id FROM (
  SELECT s.wait FROM workflow_run_steps s WHERE s.run_id = p.id AND s.status IN {one_of(STEP_OPEN)}
  ORDER BY s.position LIMIT {_LOOKED_AT}) o
WHERE o.wait ->> 'for' = 'child'
UNION (SELECT c.id FROM workflow_runs c WHERE c.parent_run_id = p.id ORDER BY c.id DESC LIMIT {_LOOKED_AT})
"""
_CHOSEN = text(f"""
SELECT r.id, f.parent, coalesce(s.item_of, s.position) AS under, s.name AS step, s.item_index AS item,
  w.name AS workflow, r.status, r.started_at, r.finished_at, r.error ->> 'type' AS error_type,
  r.error ->> 'step' AS error_step, n.ended, n.steps, a.name AS at, a.status AS at_status
FROM (
  SELECT p.id AS parent, c.id, row_number() OVER (
    PARTITION BY p.id ORDER BY c.status IN {one_of(RUN_TERMINAL)}, c.status <> 'failed', c.id) AS place
  FROM unnest(CAST(:parents AS uuid[])) AS p (id) CROSS JOIN LATERAL ({_SOME}) k
  CROSS JOIN LATERAL (SELECT r.id, r.status FROM workflow_runs r WHERE r.id = k.id OFFSET 0) c
) f CROSS JOIN LATERAL (SELECT * FROM workflow_runs r WHERE r.id = f.id AND f.place <= :most OFFSET 0) r
JOIN workflow_revisions v ON v.id = r.revision_id
JOIN workflows w ON w.id = v.workflow_id LEFT JOIN workflow_run_steps s ON s.id = r.parent_step_id
CROSS JOIN LATERAL (
  SELECT count(*) AS steps, count(*) FILTER (WHERE i.status NOT IN {one_of(STEP_OPEN)}) AS ended
  FROM workflow_run_steps i WHERE i.run_id = r.id AND i.{STEPS_ONLY}
) n
LEFT JOIN LATERAL (
  SELECT i.name, i.status FROM workflow_run_steps i WHERE i.run_id = r.id AND i.{STEPS_ONLY}
    AND i.status IN ('ready', 'queued', 'running', 'waiting') ORDER BY i.position LIMIT 1
) a ON true
ORDER BY f.parent, under, s.position, r.id
""")
_COUNT = text(f"""
SELECT p.id, (SELECT count(*) FROM (SELECT FROM workflow_runs c WHERE c.parent_run_id = p.id
  LIMIT {MOST_COUNTED + 1}) n) AS children
FROM unnest(CAST(:parents AS uuid[])) AS p (id)
""")


def list_below(conn: Connection, parents: Sequence[str], most: int) -> list[Below]:
    """Up to `most` children of each of these runs, in the order of their steps and items."""
    rows = conn.execute(_CHOSEN, {"parents": list(parents), "most": most}) if parents and most > 0 else ()
    made = []
    for row in rows:
        values = dict(row._mapping) | {"id": str(row.id), "parent": str(row.parent), "status": RunStatus(row.status)}
        made.append(Below(**values | {"at_status": StepStatus(row.at_status) if row.at_status else None}))
    return made


def count_below(conn: Connection, parents: Sequence[str]) -> dict[str, int]:
    """How many children each of these runs has; one more than `MOST_COUNTED` stands for more than that."""
    return {str(row.id): row.children for row in conn.execute(_COUNT, {"parents": list(parents)})}
