"""Who a workflow or a pack belongs to: one app, or one group of apps."""

from __future__ import annotations

from sqlalchemy import Connection

from orchestrator.errors import OrchestratorError
from orchestrator.services.engine import Engine
from orchestrator.store import workflows
from orchestrator.store.workflows import Owner


def new_owner(engine: Engine, conn: Connection, app: str | None, group: str | None) -> Owner:
    """The app (the configured one by default) or the group, made when it is new."""
    _check(app, group)
    return workflows.ensure_group(conn, group) if group else workflows.ensure_app(conn, app or engine.settings.app)


def known_owner(engine: Engine, conn: Connection, app: str | None, group: str | None) -> Owner:
    """The app (the configured one by default) or the group; raises `NotFound`."""
    _check(app, group)
    return workflows.find_owner(conn, app or engine.settings.app, group)


def _check(app: str | None, group: str | None) -> None:
    if app and group:
        raise OrchestratorError("there is exactly one owner: give an app or a group, not both")
