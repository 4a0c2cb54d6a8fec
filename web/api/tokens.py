"""Tokens, and whose the one is that asks."""

from __future__ import annotations

from typing import Any

from flask import Response
from marshmallow import fields

from orchestrator.domain.roles import Role
from orchestrator.services.tokens import create_token, revoke_token, set_password
from orchestrator.store.reads import list_tokens
from web.api.fields import Name, Paged, Strict, Text, one_of
from web.api.noun import Noun, answered, paged
from web.api.shapes.people import MeShape, NewTokenShape, TokenNameShape, TokenPage
from web.api.use import app_seen
from web.application import database
from web.auth import actor, current_identity, forget_token

tokens = Noun("tokens", "Who may ask. An admin of one app sees and makes tokens of that app.")

_PASSWORD: dict[str, Any] = {"load_default": None, "allow_none": True}


class TokensQuery(Paged):
    """Which tokens."""

    revoked = fields.Boolean(load_default=False, metadata={"description": "Also those that were revoked."})


class TokenBody(Strict):
    """Who it is for."""

    name = Name(required=True)
    role = one_of(Role, required=True)
    app = Name(load_default=None, allow_none=True, metadata={"description": "Open this app to it, and no other."})
    expires_in = fields.Float(
        load_default=None, allow_none=True, metadata={"description": "Seconds after which it opens nothing."}
    )
    password = Text(**_PASSWORD, metadata={"description": "To sign in to the admin pages with, by the token's name."})


class PasswordBody(Strict):
    """The new password."""

    password = Text(required=True, allow_none=True, metadata={"description": "10 characters or more; null: none."})


class RevokeQuery(Strict):
    """Why."""

    reason = Text(load_default=None, metadata={"description": "Why, for the audit log."})


@tokens.get("/me", MeShape)
def me(query: dict[str, Any]) -> Response:
    """Show whose the token is"""
    identity = current_identity()
    return answered({"id": identity.token_id, "name": identity.name, "role": str(identity.role), "app": identity.app})


@tokens.get("/tokens", TokenPage, role=Role.ADMIN, query=TokensQuery)
def list_all(query: dict[str, Any]) -> Response:
    """List tokens by name, not the tokens themselves"""
    with database().transaction() as conn:
        page = list_tokens(conn, query["after"], query["limit"], revoked=query["revoked"], app=current_identity().app)
    return paged(page)


@tokens.post("/tokens", NewTokenShape, role=Role.ADMIN, status=201, body=TokenBody, refused=(404, 409))
def create(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Make a token

    It is in this answer, and cannot be had again: only its hash is stored. 409: another has the name.
    """
    app, role = app_seen(body["app"]), Role(body["role"])
    made = create_token(
        database(), body["name"], role, app=app, expires_in=body["expires_in"], password=body["password"], actor=actor()
    )
    return answered({"id": made.id, "name": made.name, "role": str(role), "app": app, "token": made.token}, 201)


@tokens.add("DELETE", "/tokens/<name>", Role.ADMIN, None, status=204, query=RevokeQuery, refused=(404,))
def revoke(query: dict[str, Any], name: str) -> Response:
    """Revoke a token

    It opens nothing any more, and sessions that were begun with it end: here at once, in other processes within five
    seconds.
    """
    forget_token(
        database(), revoke_token(database(), name, reason=query["reason"], actor=actor(), app=current_identity().app)
    )
    return Response(status=204)


@tokens.add("PUT", "/tokens/<name>/password", Role.ADMIN, TokenNameShape, body=PasswordBody, refused=(404,))
def password(query: dict[str, Any], body: dict[str, Any], name: str) -> Response:
    """Set or remove the password of a token's holder"""
    id = set_password(database(), name, body["password"], actor=actor(), app=current_identity().app)
    return answered({"id": id, "name": name, "password": body["password"] is not None})
