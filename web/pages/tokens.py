"""Tokens: who may come in, and how far. For administrators."""

from __future__ import annotations

from typing import Any

from flask import Response, make_response, request, url_for

from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, InvalidInput, NotFound, OrchestratorError
from orchestrator.services.tokens import create_token, revoke_token, set_password
from orchestrator.store.reads import list_apps, list_tokens
from orchestrator.store.reads.tokens import get_token
from web.application import database
from web.auth import actor, forget_token
from web.pages.forms import beside
from web.pages.frame import check_scope, done, identity, needs, page_blueprint, render, scope, show_errors

tokens = page_blueprint("tokens")

_PAGE = 50
_DAY = 86400.0
ENDS = {"": "never", "1": "in a day", "7": "in a week", "30": "in 30 days", "90": "in 90 days", "365": "in a year"}
_FIELDS = {"name": "name", "password": "password", "expires_in": "expires"}


@tokens.get("/tokens")
@needs(Role.ADMIN)
def index() -> str:
    """The tokens; `all=1`: revoked ones too."""
    after, everything = request.args.get("after") or None, request.args.get("all") == "1"
    with database().transaction() as conn:
        page = list_tokens(conn, after, _PAGE, revoked=everything, app=scope())
    return render("tokens/index.html", page=page, after=after, everything=everything)


@tokens.get("/tokens/create")
@needs(Role.ADMIN)
def ask() -> str:
    return render("tokens/create.html", given={}, errors={}, **_choices())


@tokens.post("/tokens/create")
@needs(Role.ADMIN)
def create() -> Response:
    """Shown once, here: nobody can read it later."""
    given = request.form
    days = given.get("expires", "")
    role = given.get("role", "viewer")
    options: dict[str, Any] = {
        "app": scope() or given.get("app") or None,
        "expires_in": float(days) * _DAY if days in ENDS and days else None,
        "password": given.get("password") or None,
    }
    if role not in frozenset(map(str, Role)):
        return show_errors("tokens/create.html", given=given, errors={"role": "Choose a role."}, **_choices())
    try:
        made = create_token(database(), given.get("name", "").strip(), Role(role), **options, actor=actor())
    except (InvalidInput, Conflict, NotFound) as error:
        return show_errors("tokens/create.html", given=given, errors=_told(error), **_choices())
    return make_response(render("tokens/created.html", made=made))


@tokens.get("/tokens/revoke")
@needs(Role.ADMIN)
def ask_revoke() -> str:
    return render("tokens/revoke.html", one=_meant())


@tokens.post("/tokens/revoke")
@needs(Role.ADMIN)
def revoke() -> Response:
    one = _meant()
    reason = request.form.get("reason", "").strip() or None
    forget_token(database(), revoke_token(database(), one["name"], reason=reason, actor=actor()))
    return done(url_for("tokens.index"), f"The token '{one['name']}' opens nothing any more.")


@tokens.get("/tokens/password")
@needs(Role.ADMIN)
def ask_password() -> str:
    return render("tokens/password.html", one=_meant(), errors={})


@tokens.post("/tokens/password")
@needs(Role.ADMIN)
def password() -> Response:
    one, remove = _meant(), request.form.get("remove") == "yes"
    given = request.form.get("password", "")
    if not given and not remove:
        return show_errors("tokens/password.html", one=one, errors={"password": "Give a password."})
    try:
        changed = set_password(database(), one["name"], None if remove else given, actor=actor())
    except InvalidInput as error:
        return show_errors("tokens/password.html", one=one, errors=_told(error))
    forget_token(database(), changed)
    told = "can no longer sign in with a password" if remove else "signs in with the new password"
    return done(url_for("tokens.index"), f"'{one['name']}' {told}.")


def _meant() -> dict[str, Any]:
    """The token that is named; raises `NotFound` for one that is not there or is of another app."""
    with database().transaction() as conn:
        one = get_token(conn, request.values.get("name", ""))
    if identity().app is not None:
        check_scope(one["app"] or "")
    return one


def _choices() -> dict[str, Any]:
    with database().transaction() as conn:
        apps = [] if scope() else [app["name"] for app in list_apps(conn)]
    return {"roles": [str(role) for role in sorted(Role)], "ends": ENDS, "apps": apps}


def _told(error: OrchestratorError) -> dict[str, str]:
    return {name: told.removeprefix(f"{name}: ") for name, told in beside(error, _FIELDS).items()}
