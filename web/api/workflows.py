"""Workflows: what is registered, and registering more."""

from __future__ import annotations

from typing import Any

from flask import Response, request, url_for
from marshmallow import fields, validates_schema
from marshmallow.exceptions import ValidationError

from orchestrator.domain.definition_schema import definition_schema
from orchestrator.domain.load import load_text
from orchestrator.domain.parse import parse
from orchestrator.domain.roles import Role
from orchestrator.domain.validate import warnings
from orchestrator.errors import ProblemsError
from orchestrator.services.register import known_functions, register
from orchestrator.services.unregister import unregister
from orchestrator.store.reads import get_workflow, list_workflows
from web.api.bodies import read_source
from web.api.fields import Name, OfApp, Paged, Text, absent
from web.api.noun import Noun, answered, paged
from web.api.shapes.workflows import (
    RegisteredShape,
    ValidatedShape,
    WorkflowDetailShape,
    WorkflowPage,
)
from web.api.use import app_meant, app_seen
from web.application import database, engine
from web.auth import actor, current_identity
from web.errors import Forbidden, UnsupportedBody
from web.problems import problem_shown

workflows = Noun("workflows", "Definitions, each an immutable revision of its owner's workflow.")

_KINDS = ("application/json", "application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain")


def _document(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = {kind: {"schema": schema} for kind in ("application/json", "application/yaml")}
    return {"requestBody": {"required": True, "description": "The definition, JSON or YAML.", "content": kinds}}


class WorkflowsQuery(Paged, OfApp):
    """Which workflows."""


class Owned(OfApp):
    """Whose workflow is meant: as an app sees it (its own, else its group's), or a group's own."""

    group = Name(load_default=absent, metadata={"description": "Of this group of apps, in place of an app."})

    @validates_schema
    def _one(self, given: dict[str, Any], **_: Any) -> None:
        if given.get("app") is not None and given.get("group") is not None:
            raise ValidationError("there is exactly one owner: give an app or a group, not both", "group")


class RegisterQuery(Owned):
    """Whose it becomes."""

    force = fields.Boolean(
        load_default=False, metadata={"description": "Also a new revision of a workflow that is of a pack."}
    )


class DeleteQuery(Owned):
    """Whose is deleted."""

    force = fields.Boolean(
        load_default=False, metadata={"description": "Even with active runs, which go on, or of a pack."}
    )
    reason = Text(load_default=absent, metadata={"description": "Why, for the audit log."})


def owner_seen(query: dict[str, Any]) -> dict[str, str | None]:
    """The owner a read is about: `app` or `group`."""
    if query["group"] is not None and current_identity().app is None:
        return {"app": None, "group": query["group"]}
    return {"app": app_meant(query["app"]), "group": None}


def owner_meant(query: dict[str, Any]) -> dict[str, str | None]:
    """The owner of what is changed; raises `Forbidden` for a group and a token of one app."""
    if query["group"] is not None and current_identity().app is not None:
        raise Forbidden("a token of one app changes that app's own workflows, not a group's")
    return owner_seen(query)


@workflows.get("/workflows", WorkflowPage, query=WorkflowsQuery, refused=(404,))
def list_all(query: dict[str, Any]) -> Response:
    """List workflows by name

    All of them, or those an app sees: its own and its group's.
    """
    with database().transaction() as conn:
        return paged(list_workflows(conn, query["after"], query["limit"], app=app_seen(query["app"])))


@workflows.post(
    "/workflows", RegisteredShape, role=Role.AUTHOR, status=201, also=(200,), query=RegisterQuery,
    refused=(404, 409, 413, 415), doc=_document({"type": "object"}),
)  # fmt: skip
def register_one(query: dict[str, Any]) -> Response:
    """Register a definition

    The body is the document, JSON or YAML. 201: it is a new revision; 200: it equals the latest one. All that is wrong
    with it is told at once. A group, or an app, that is not there is made.
    """
    owner = owner_meant(query)
    document = load_text(_source(), limits=engine().settings.documents)
    made = register(engine(), document, **owner, force=query["force"], actor=actor())
    shown = {
        "workflow": made.workflow,
        "revision": made.revision,
        "owner": {"kind": made.owner.kind, "name": made.owner.name},
        "created": made.created,
        "warnings": [problem_shown(odd) for odd in made.warnings],
    }
    owner_named: dict[str, Any] = {made.owner.kind: made.owner.name}
    where = url_for("api-workflows.show", name=made.workflow, **owner_named)
    return answered(shown, 201 if made.created else 200, Location=where)


@workflows.post(
    "/workflows/validate", ValidatedShape, role=Role.VIEWER, query=OfApp, refused=(404, 413, 415), doc=_document({})
)
def validate(query: dict[str, Any]) -> Response:
    """Check a definition

    The body is the document, JSON or YAML; nothing is stored. The answer is 200 for an invalid one too: `problems` has
    all that is wrong with it, each with its path.
    """
    app_seen(query["app"])
    try:
        document = load_text(_source(), limits=engine().settings.documents)
        definition = parse(document, limits=engine().settings.documents)
    except ProblemsError as error:
        told = [problem_shown(problem) for problem in error.problems]
        return answered({"valid": False, "workflow": None, "problems": told, "warnings": []})
    with database().transaction() as conn:
        functions = known_functions(engine(), conn)
    odd = [problem_shown(one) for one in warnings(definition, functions=functions)]
    return answered({"valid": True, "workflow": definition.name, "problems": [], "warnings": odd})


@workflows.get("/workflows/<name>", WorkflowDetailShape, query=Owned, refused=(404,))
def show(query: dict[str, Any], name: str) -> Response:
    """Show a workflow with its document"""
    with database().transaction() as conn:
        return answered(get_workflow(conn, name, **owner_seen(query)))


@workflows.add("DELETE", "/workflows/<name>", Role.AUTHOR, None, status=204, query=DeleteQuery, refused=(404, 409))
def delete(query: dict[str, Any], name: str) -> Response:
    """Delete a workflow

    Nobody sees it by its name any more. Its runs keep their revision, and go on; one with active runs is refused,
    unless forced. Registered again, it goes on with the next revision.
    """
    owner = owner_meant(query)
    unregister(engine(), name, **owner, force=query["force"], reason=query["reason"], actor=actor())
    return Response(status=204)


@workflows.get("/schema", {"type": "object"})
def schema(query: dict[str, Any]) -> Response:
    """Show the JSON Schema of definitions

    JSON Schema 2020-12, for editors.
    """
    return answered(definition_schema())


def _source() -> bytes:
    if request.mimetype not in _KINDS:
        raise UnsupportedBody("send the document with `Content-Type: application/yaml` or `application/json`")
    return read_source()
