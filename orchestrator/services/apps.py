"""Apps: which group each belongs to, and the configuration its templates see as `config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.values import storable
from orchestrator.errors import OrchestratorError, UnstorableValue
from orchestrator.store import events, workflows
from orchestrator.store.db import Database

_MOST_BYTES = 1 << 20


def set_app(
    db: Database,
    name: str,
    *,
    group: str | None = None,
    leave_group: bool = False,
    config: Mapping[str, Any] | None = None,
    actor: str = "cli",
) -> None:
    """Make the app if it is new; put it in a group (or in none), give it a configuration. What is None stays."""
    if group is not None and leave_group:
        raise OrchestratorError("an app cannot join a group and leave it at once")
    with db.transaction() as conn:
        app = workflows.ensure_app(conn, name)
        if group is not None or leave_group:
            workflows.join_group(conn, app, workflows.ensure_group(conn, group) if group else None)
        if config is not None:
            workflows.set_config(conn, app, _checked(config))
        told = {"group": group, "leave_group": leave_group, "config": config is not None}
        events.audit(conn, actor, "set", "app", app.name, data=told)


def _checked(config: Mapping[str, Any]) -> str:
    try:
        _, text = storable(dict(config), max_bytes=_MOST_BYTES)
    except UnstorableValue as error:
        raise OrchestratorError(f"the configuration cannot be stored: {error}") from error
    return str(text)
