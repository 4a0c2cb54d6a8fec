"""One run in one round trip, for who has just started it, or asks for it often."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from orchestrator.errors import unknown_run
from orchestrator.ids import is_id
from orchestrator.store.db import Call
from orchestrator.store.reads.runs import COLUMNS, shape_run
from orchestrator.store.reads.secrets import secrets_of
from orchestrator.store.reads.whole import Read, read_whole

# What `get_run` reads, as a function: planning it took six times as long as running it.
_NAMES = (*COLUMNS, "counts")
_ONE = f"SELECT {', '.join(_NAMES)} FROM orchestrator_shown_run(%s)"
# Input and output schema of a revision by its id.
Schemas = Callable[[str], tuple[Any, Any]]


def view_run(call: Call, run_id: str, schemas: Schemas, read: Read | None = None) -> dict[str, Any]:
    """What `get_run` gives; raises `NotFound`."""
    rows = call(_ONE, [run_id]) if is_id(run_id) else []
    if not rows:
        raise unknown_run(run_id)
    row = read_whole(SimpleNamespace(**dict(zip(_NAMES, rows[0], strict=True))), read)
    return shape_run(row, secrets_of(schemas(row.revision_id), row.input), row.counts or {})
