"""Apps: which group each belongs to, and the configuration its templates see as `config`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.domain.sensitive import unmask
from orchestrator.domain.values import storable
from orchestrator.errors import InvalidInput, OrchestratorError, Problem, UnstorableValue
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
) -> bool:
    """Make the app if it is new, which is True; put it in a group (or in none), give it a configuration.

    What is None stays, and so does a value of the configuration that is `***`, where a secret was shown so.
    """
    if group is not None and leave_group:
        raise OrchestratorError("an app cannot join a group and leave it at once")
    _check_names(name, *([group] if group is not None else []))
    with db.transaction() as conn:
        known = workflows.is_owner(conn, "app", name)
        app = workflows.ensure_app(conn, name)
        if group is not None or leave_group:
            workflows.join_group(conn, app, workflows.ensure_group(conn, group) if group else None)
        if config is not None:
            workflows.set_config(conn, app, _checked(unmask(config, workflows.find_app(conn, name).config)))
        told = {"group": group, "leave_group": leave_group, "config": config is not None}
        events.audit(conn, actor, "set", "app", app.name, data=told)
    return not known


def set_group(db: Database, name: str, apps: Sequence[str] | None = None, *, actor: str = "cli") -> bool:
    """Make the group if it is new, which is True; with `apps` these are its apps from now on, and no others.

    Raises `InvalidInput` for apps that are not there, and for a name that is none.
    """
    _check_names(name)
    with db.transaction() as conn:
        known = workflows.is_owner(conn, "group", name)
        group = workflows.ensure_group(conn, name)
        if apps is not None:
            unknown = workflows.set_members(conn, group, apps)
            if unknown:
                told = [Problem("apps", f"there is no app named '{app}'") for app in unknown]
                raise InvalidInput(told, "the group is invalid")
        events.audit(conn, actor, "set", "group", group.name, data={"apps": list(apps) if apps is not None else None})
    return not known


def _check_names(*names: str) -> None:
    if not all(name.strip() and len(name) <= 255 and name.isprintable() for name in names):
        raise InvalidInput([Problem("name", "must be 1 to 255 printable characters")], "the name is invalid")


def _checked(config: Mapping[str, Any]) -> str:
    try:
        _, text = storable(dict(config), max_bytes=_MOST_BYTES)
    except UnstorableValue as error:
        raise OrchestratorError(f"the configuration cannot be stored: {error}") from error
    return str(text)
