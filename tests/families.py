"""Workflows that run each other, and the runs they come to."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text

from orchestrator.services.register import register
from orchestrator.services.start import start
from tests.documents import Document, document
from tests.hands import Hands


def below(name: str, workflow: str, **keys: Any) -> dict[str, Any]:
    """A step that runs a sub-workflow."""
    return {"name": name, "workflow": workflow, **keys}


def levels(*names: str, leaf: dict[str, Any] | None = None, **keys: Any) -> list[Document]:
    """Workflows each of which runs the next one in its only step `down`; the last has the step `leaf`."""
    upper = [document(below("down", lower), name=name, **keys) for name, lower in zip(names, names[1:], strict=False)]
    return [*upper, document(leaf or {"name": "leaf", "function": "ok"}, name=names[-1], **keys)]


def start_family(hands: Hands, *documents: Document, input: Any = None) -> str:
    """Register all of them, and start a run of the first; its id."""
    for one in documents:
        register(hands.engine, one, actor="test")
    return start(hands.engine, documents[0]["name"], input).run_id


def only_child(hands: Hands, run_id: str) -> str:
    """The id of the run's one child."""
    (child,) = children_of(hands, run_id)
    return child


def children_of(hands: Hands, run_id: str) -> list[str]:
    with hands.db.transaction() as conn:
        found = text("SELECT id FROM workflow_runs WHERE parent_run_id = :id ORDER BY id")
        return list(conn.execute(found, {"id": run_id}).scalars())


def line(hands: Hands, run_id: str) -> list[str]:
    """The statuses of a run, its one child, the child of that and so on."""
    found = [hands.status(run_id)]
    while (lower := children_of(hands, run_id)) != []:
        (run_id,) = lower
        found.append(hands.status(run_id))
    return found


def column(hands: Hands, run_id: str, name: str) -> Any:
    """A column of the run's row."""
    with hands.db.transaction() as conn:
        return conn.execute(text(f"SELECT {name} FROM workflow_runs WHERE id = :id"), {"id": run_id}).scalar_one()


def unwatched(hands: Hands) -> list[str]:
    """Runs below others that are open although their step no longer waits for them, or whose end nobody was told."""
    with hands.db.transaction() as conn:
        found = text("""
SELECT c.id FROM workflow_runs c JOIN workflow_run_steps s ON s.id = c.parent_step_id
WHERE c.parent_waits AND (c.finished_at IS NOT NULL OR s.finished_at IS NOT NULL)""")
        return list(conn.execute(found).scalars())
