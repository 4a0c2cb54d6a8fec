"""Show a run, with what is in memory of its workflow."""

from __future__ import annotations

from typing import Any

from orchestrator.domain.secret_fields import has_secrets
from orchestrator.services.engine import Engine
from orchestrator.store.reads.one_run import view_run


def view(engine: Engine, run_id: str, *, whole: bool = False) -> dict[str, Any]:
    """The run as `get_run` shows it, secret fields masked, in one round trip; raises `NotFound`.

    `whole`: with what lies in the blob store, in place of references.
    """

    def schemas(revision_id: str) -> tuple[Any, Any]:
        definition = engine.plan(revision_id).definition
        pair = definition.input_schema, definition.output_schema
        return pair if any(map(has_secrets, pair)) else (None, None)

    return view_run(engine.db.call, run_id, schemas, engine.blobs.shown if whole else None)
