"""References to the blob store in the rows of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.blobs import QUOTED

_NAMED = QUOTED.replace("$", "[$]").replace(".", "[.]") + ':"([^"]+)"'
_HAS = f"strpos(CAST(v.value AS text), '{QUOTED}') > 0"
_OF_STEPS = "CROSS JOIN LATERAL (VALUES ('input', s.input), ('output', s.output), ('item', s.item)) AS v (what, value)"
_PATHS = text(f"""
SELECT DISTINCT (regexp_matches(found.value, '{_NAMED}', 'g'))[1] FROM (
  SELECT CAST(v.value AS text) AS value FROM workflow_run_steps s {_OF_STEPS}
  WHERE s.run_id = ANY(CAST(:ids AS uuid[])) AND {_HAS}
  UNION ALL SELECT CAST(v.output AS text) FROM workflow_runs v WHERE v.id = ANY(CAST(:ids AS uuid[]))
    AND strpos(CAST(v.output AS text), '{QUOTED}') > 0
  UNION ALL SELECT CAST(v.value AS text) FROM workflow_journal v WHERE v.run_id = ANY(CAST(:ids AS uuid[])) AND {_HAS}
) found
""")


def load_paths(conn: Connection, run_ids: Sequence[str]) -> set[str]:
    """The paths of all blobs that these runs refer to."""
    return set(conn.execute(_PATHS, {"ids": list(run_ids)}).scalars())


_RUNS = text("SELECT id FROM workflow_runs WHERE id > CAST(:after AS uuid) ORDER BY id LIMIT :limit")


def next_runs(conn: Connection, after: str, limit: int) -> Sequence[str]:
    """Ids of runs in their order, from after `after` on."""
    return conn.execute(_RUNS, {"after": after, "limit": limit}).scalars().all()


_REFERENCES = text(f"""
SELECT s.run_id, s.name AS step, s.item_index, v.what, v.value FROM workflow_run_steps s {_OF_STEPS}
WHERE s.run_id = ANY(CAST(:ids AS uuid[])) AND {_HAS}
UNION ALL SELECT v.id, NULL, NULL, 'output', v.output FROM workflow_runs v WHERE v.id = ANY(CAST(:ids AS uuid[]))
  AND strpos(CAST(v.output AS text), '{QUOTED}') > 0
UNION ALL SELECT v.run_id, v.key, NULL, 'journal', v.value FROM workflow_journal v
WHERE v.run_id = ANY(CAST(:ids AS uuid[])) AND {_HAS}
""")


def load_references(conn: Connection, run_ids: Sequence[str]) -> Sequence[Row[Any]]:
    """Every value of these runs that refers to blobs, and where it stands."""
    return conn.execute(_REFERENCES, {"ids": list(run_ids)}).all()
