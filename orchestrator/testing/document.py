"""Run a document to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from orchestrator.services.engine import Settings
from orchestrator.testing.results import RunResult
from orchestrator.testing.sandboxed import Document, Pick, Sandbox, sandbox


def run_document(
    definition: Document,
    input: Any = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    *,
    at: datetime | None = None,
    pick: Pick = lambda waiting: 0,
    settings: Settings | None = None,
    database_url: str | None = None,
    check: Callable[[Sandbox], None] | None = None,
    signals: Mapping[str, Any] | None = None,
    approvals: Mapping[str, Any] | None = None,
    workflows: Sequence[Document] = (),
) -> RunResult:
    """See `orchestrator.testing.run`."""
    with sandbox(functions, at=at, settings=settings, database_url=database_url) as box:
        for other in workflows:
            box.register(other)
        run_id = box.start(definition, input)
        box.tell(run_id, signals or {}, approvals or {})
        box.drive(run_id, pick, check)
        return box.result(run_id)
