"""Which workflow a page is about: as an app sees it, or a group's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import request

from orchestrator.store.reads import get_workflow
from orchestrator.store.reads.apps import list_apps
from web.application import database, engine
from web.auth import sees
from web.errors import Forbidden
from web.pages.frame import identity, scope


@dataclass(frozen=True, slots=True)
class Meant:
    """By what owner it was asked for; exactly one of `app` and `group` is set."""

    name: str
    app: str | None
    group: str | None

    @property
    def owner(self) -> dict[str, str | None]:
        """As services and reads take it."""
        return {"app": self.app, "group": self.group}

    @property
    def query(self) -> dict[str, str]:
        """As addresses carry it."""
        given = {"name": self.name, "app": self.app, "group": self.group}
        return {key: value for key, value in given.items() if value}


def meant(name: str | None = None) -> Meant:
    """What the address asks for; without an owner it is the app of who is signed in, or the configured one."""
    group = request.args.get("group") or None
    app = request.args.get("app") or None
    name = request.args.get("name", "") if name is None else name
    if group is not None and app is None and identity().app is None:
        return Meant(name, None, group)
    return Meant(name, scope(app) or engine().settings.app, None)


def workflow_of(which: Meant) -> dict[str, Any]:
    """The workflow with its latest document; raises `NotFound`."""
    with database().transaction() as conn:
        return get_workflow(conn, which.name, app=which.app, group=which.group)


def may_change(workflow: dict[str, Any]) -> bool:
    """Whether its owner is open to who is signed in: who is of one app changes that app's own."""
    owner = workflow["owner"]
    return identity().app is None or (owner["kind"] == "app" and sees(owner["name"]))


def check_change(workflow: dict[str, Any]) -> None:
    """Raises `Forbidden` for another owner's."""
    if not may_change(workflow):
        raise Forbidden("it belongs to a group of apps, and you are of one of them")


def apps_of(workflow: dict[str, Any]) -> list[str]:
    """The apps in which it can be started by who is signed in."""
    own, owner = identity().app, workflow["owner"]
    if own is not None or owner["kind"] == "app":
        return [own or owner["name"]]
    with database().transaction() as conn:
        return [app["name"] for app in list_apps(conn) if app["group"] == owner["name"]]


def owner_query(workflow: dict[str, Any]) -> dict[str, str]:
    """The owner itself, as changes name it."""
    return {workflow["owner"]["kind"]: workflow["owner"]["name"]}
