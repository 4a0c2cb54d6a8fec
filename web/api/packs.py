"""Packs: workflows that are installed, upgraded and removed as one unit."""

from __future__ import annotations

from typing import Any

from flask import Response, request, url_for
from marshmallow import fields

from orchestrator.domain.pack import Pack
from orchestrator.domain.roles import Role
from orchestrator.errors import InvalidInput, Problem
from orchestrator.services.pack_files import pack_of_archive, pack_of_files
from orchestrator.services.packs import Act, Changed, install_pack, remove_pack, upgrade_pack
from orchestrator.store.reads import list_packs
from orchestrator.store.reads.packs import page_packs
from orchestrator.store.workflows import name_key
from web.api.bodies import JSON, read_body
from web.api.fields import OfApp, Paged, Strict, Text
from web.api.noun import Noun, answered, paged
from web.api.shapes.operations import PackChangedShape, PackPage, PacksShape
from web.api.use import app_seen
from web.api.workflows import Owned, owner_meant
from web.application import database, engine
from web.auth import actor
from web.errors import UnsupportedBody
from web.problems import problem_shown

packs = Noun("packs", "Workflows that are installed, upgraded and removed as one unit.")

_ARCHIVES = (
    "application/zip",
    "application/x-zip-compressed",
    "application/gzip",
    "application/x-gzip",
    "application/x-tar",
    "application/x-gtar",
    "application/x-bzip2",
    "application/x-xz",
    "application/octet-stream",
)


class FilesBody(Strict):
    """The files of a pack."""

    files = fields.Dict(
        fields.String(),
        fields.String(),
        required=True,
        metadata={"description": "Texts by path: `pack.yaml`, `workflows/order.yaml`, ..."},
    )


_BODY = {
    "requestBody": {
        "required": True,
        "description": "The pack: a zip or tar (also packed by gzip, bzip2 or xz), or its files as JSON.",
        "content": {
            JSON: {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "additionalProperties": False,
                    "properties": {"files": {"type": "object", "additionalProperties": {"type": "string"}}},
                }
            },
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            "application/x-tar": {"schema": {"type": "string", "format": "binary"}},
            "application/gzip": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


class PacksQuery(Paged, OfApp):
    """Which packs."""


class InstallQuery(Owned):
    """Whose it becomes, and how."""

    dry_run = fields.Boolean(load_default=False, metadata={"description": "Only say what would change."})
    reason = Text(load_default=None, metadata={"description": "Why, for the audit log."})


class ChangeQuery(InstallQuery):
    """Whose it is, and how."""

    force = fields.Boolean(
        load_default=False, metadata={"description": "Remove workflows even with active runs, which go on."}
    )


_CHANGING: dict[str, Any] = {"doc": _BODY, "refused": (400, 404, 409, 413, 415)}


@packs.get("/packs", PackPage, query=PacksQuery, refused=(404,))
def list_all(query: dict[str, Any]) -> Response:
    """List packs by name

    All of them, or those an app sees: its own and its group's.
    """
    with database().transaction() as conn:
        return paged(page_packs(conn, query["after"], query["limit"], app=app_seen(query["app"])))


@packs.get("/packs/<name>", PacksShape, query=OfApp, refused=(404,))
def show(query: dict[str, Any], name: str) -> Response:
    """Show a pack with its workflows

    For each app or group that has one of this name.
    """
    with database().transaction() as conn:
        found = list_packs(conn, app_seen(query["app"]), name)
    return answered({"items": found})


@packs.add("POST", "/packs", Role.AUTHOR, PackChangedShape, status=201, also=(200,), query=InstallQuery, **_CHANGING)
def install(query: dict[str, Any]) -> Response:
    """Install a pack

    All of its workflows, or none. 200: it was only tried.
    """
    changed = install_pack(engine(), _read(), _act(query))
    where = url_for("api-packs.show", name=changed.pack)
    if query["dry_run"]:
        return answered(_shown(changed, query))
    return answered(_shown(changed, query), 201, Location=where)


@packs.add("PUT", "/packs/<name>", Role.AUTHOR, PackChangedShape, query=ChangeQuery, **_CHANGING)
def upgrade(query: dict[str, Any], name: str) -> Response:
    """Bring an installed pack to what is sent

    Workflows that are no longer in it are removed.
    """
    pack = _read()
    if name_key(pack.name) != name_key(name):
        told = f"is '{pack.name}', not '{name}'"
        raise InvalidInput([Problem("pack.yaml: name", told)], "this is another pack")
    return answered(_shown(upgrade_pack(engine(), pack, _act(query)), query))


@packs.add("DELETE", "/packs/<name>", Role.AUTHOR, PackChangedShape, query=ChangeQuery, refused=(404, 409))
def remove(query: dict[str, Any], name: str) -> Response:
    """Remove a pack with its workflows

    Their runs keep the revision they follow.
    """
    return answered(_shown(remove_pack(engine(), name, _act(query)), query))


def _act(query: dict[str, Any]) -> Act:
    return Act(
        **owner_meant(query),
        force=query.get("force", False),
        dry_run=query["dry_run"],
        reason=query["reason"],
        actor=actor(),
    )


def _read() -> Pack:
    limits = engine().settings.documents
    if request.mimetype in _ARCHIVES:
        return pack_of_archive(request.get_data(cache=False), limits=limits)
    if not request.is_json:
        raise UnsupportedBody("send a zip or tar, with `Content-Type: application/zip`, or the files as JSON")
    return pack_of_files(read_body(FilesBody())["files"], limits=limits)


def _shown(changed: Changed, query: dict[str, Any]) -> dict[str, Any]:
    return {
        "pack": changed.pack,
        "owner": {"kind": changed.owner.kind, "name": changed.owner.name},
        "version": changed.version,
        "before": changed.before,
        "dry_run": query["dry_run"],
        "workflows": [{"workflow": w.workflow, "change": w.change, "revision": w.revision} for w in changed.workflows],
        "warnings": [problem_shown(odd) for odd in changed.warnings],
    }
