"""Apps, and groups of apps."""

from __future__ import annotations

from typing import Any

from flask import Response, url_for
from marshmallow import fields

from orchestrator.domain.roles import Role
from orchestrator.domain.sensitive import mask_sensitive
from orchestrator.errors import NotFound
from orchestrator.services.apps import set_app, set_group
from orchestrator.store.reads import Page, list_apps
from orchestrator.store.reads.apps import get_group, page_apps, page_groups
from orchestrator.store.workflows import name_key
from web.api.fields import Name, Paged, Strict
from web.api.noun import Noun, answered, paged
from web.api.shapes.operations import AppPage, AppShape, GroupPage, GroupShape
from web.api.use import app_seen, for_all_apps
from web.application import database
from web.auth import actor, current_identity

apps = Noun("apps", "Apps, their configuration, and groups of apps, which share workflows.")


class AppBody(Strict):
    """What is to change; what is not given stays."""

    group = Name(allow_none=True, metadata={"description": "The group it joins, made if it is new; null: none."})
    config = fields.Dict(
        fields.String(),
        metadata={"description": "What its templates see as `config`. A value shown as `***` is kept by sending that."},
    )


class GroupBody(Strict):
    """What is to change; what is not given stays."""

    apps = fields.List(Name(), metadata={"description": "These are its apps then, and no others."})


@apps.get("/apps", AppPage, query=Paged)
def list_all(query: dict[str, Any]) -> Response:
    """List apps by name

    A token of one app sees that one.
    """
    own = current_identity().app
    with database().transaction() as conn:
        if own is not None:
            return paged(Page([_shown(conn, own)]))
        page = page_apps(conn, query["after"], query["limit"])
    return paged(Page([_masked(app) for app in page.items], page.next))


@apps.get("/apps/<name>", AppShape, refused=(404,))
def show(query: dict[str, Any], name: str) -> Response:
    """Show an app"""
    app_seen(name)
    with database().transaction() as conn:
        return answered(_shown(conn, name))


@apps.add("PUT", "/apps/<name>", Role.ADMIN, AppShape, also=(201,), body=AppBody, refused=(404,))
def put(query: dict[str, Any], body: dict[str, Any], name: str) -> Response:
    """Make or change an app

    201: it is new. A token of one app may give that app a configuration, not a group.
    """
    app_seen(name)
    if "group" in body:
        for_all_apps("groups")
    group = body.get("group")
    leave = "group" in body and group is None
    made = set_app(database(), name, group=group, leave_group=leave, config=body.get("config"), actor=actor())
    with database().transaction() as conn:
        shown = _shown(conn, name)
    where = {"Location": url_for("api-apps.show", name=shown["name"])} if made else {}
    return answered(shown, 201 if made else 200, **where)


@apps.get("/groups", GroupPage, query=Paged)
def list_groups(query: dict[str, Any]) -> Response:
    """List groups by name, each with its apps

    A token of one app sees that app's group, and in it no other app.
    """
    own = current_identity().app
    with database().transaction() as conn:
        if own is None:
            return paged(page_groups(conn, query["after"], query["limit"]))
        group = list_apps(conn, own)[0]["group"]
    return paged(Page([{"name": group, "apps": [own]}] if group is not None else []))


@apps.get("/groups/<name>", GroupShape, refused=(404,))
def show_group(query: dict[str, Any], name: str) -> Response:
    """Show a group with its apps"""
    own = current_identity().app
    with database().transaction() as conn:
        if own is None:
            return answered(get_group(conn, name))
        group = list_apps(conn, own)[0]["group"]
    if group is None or name_key(group) != name_key(name):
        raise NotFound(f"there is no group named '{name}'")
    return answered({"name": group, "apps": [own]})


@apps.add("PUT", "/groups/<name>", Role.ADMIN, GroupShape, also=(201,), body=GroupBody, refused=(404,))
def put_group(query: dict[str, Any], body: dict[str, Any], name: str) -> Response:
    """Make or change a group

    201: it is new. 404: the name cannot be printed. A token of one app may not.
    """
    for_all_apps("groups")
    made = set_group(database(), name, body.get("apps"), actor=actor())
    with database().transaction() as conn:
        shown = get_group(conn, name)
    where = {"Location": url_for("api-apps.show_group", name=shown["name"])} if made else {}
    return answered(shown, 201 if made else 200, **where)


def _shown(conn: Any, name: str) -> dict[str, Any]:
    return _masked(list_apps(conn, name)[0])


def _masked(app: dict[str, Any]) -> dict[str, Any]:
    return app | {"config": mask_sensitive(app["config"])}
