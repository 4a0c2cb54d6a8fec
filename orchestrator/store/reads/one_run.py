"""One run in one round trip, for who has just started it, or asks for it often."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from orchestrator.errors import unknown_run
from orchestrator.ids import is_id
from orchestrator.store.db import Call
from orchestrator.store.item_columns import STEPS_ONLY
from orchestrator.store.reads.runs import COLUMNS, SHAPE, shape_run
from orchestrator.store.reads.secrets import secrets_of
from orchestrator.store.reads.shown import SHOWN
from orchestrator.store.reads.whole import Read, read_whole

_ONE = f"""
SELECT shown.*, (
  SELECT json_object_agg(c.status, c.steps ORDER BY c.status) FROM (
    SELECT status, count(*) AS steps FROM {SHOWN} s
    WHERE run_id = shown.id AND {STEPS_ONLY} GROUP BY status) c) AS counts
FROM ({SHAPE} WHERE r.id = %s) shown
"""
# Input and output schema of a revision by its id.
Schemas = Callable[[str], tuple[Any, Any]]


_NAMES = (*COLUMNS, "counts")


def view_run(call: Call, run_id: str, schemas: Schemas, read: Read | None = None) -> dict[str, Any]:
    """What `get_run` gives; raises `NotFound`."""
    rows = call(_ONE, [run_id]) if is_id(run_id) else []
    if not rows:
        raise unknown_run(run_id)
    row = read_whole(SimpleNamespace(**dict(zip(_NAMES, rows[0], strict=True))), read)
    return shape_run(row, secrets_of(schemas(row.revision_id), row.input), row.counts or {})
