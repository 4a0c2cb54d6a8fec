"""Sign in and out."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Response, flash, make_response, redirect, render_template, request, url_for

from orchestrator.services.tokens import Identity
from web.application import database
from web.auth import end_session, verify_password, verify_token
from web.cookies import is_from_here, is_own_form, sign_in
from web.errors import TooManyRequests
from web.pages.faults import show_fault

session_pages = Blueprint("session", __name__)
session_pages.register_error_handler(TooManyRequests, lambda error: _form({"": str(error)}, 429))


@session_pages.get("/login")
def login_form() -> Response:
    """`/login#token=...` signs in by itself."""
    return _form({}, 200)


@session_pages.post("/login")
def login() -> Response:
    """By token, or by name and password."""
    if not is_from_here():
        return show_fault(403, "This form was sent by another site.")
    errors = _missing()
    identity = None if errors else _identity()
    if identity is None:
        return _form(errors or {"": "This token, or this name and password, opens nothing."}, 422)
    sign_in(identity)
    return make_response(redirect(_inside(request.form.get("next", "")), 303))


@session_pages.post("/logout")
def logout() -> Response:
    if is_own_form():
        end_session()
        flash("You are signed out.", "done")
    return make_response(redirect(url_for("session.login_form"), 303))


def _missing() -> dict[str, str]:
    given = request.form
    if given.get("token", "").strip() or (given.get("name") and given.get("password")):
        return {}
    if given.get("name"):
        return {"password": "Give the password too."}
    return {"token": "Give a token, or sign in with name and password."}


def _identity() -> Identity | None:
    given = request.form
    token = given.get("token", "").strip()
    if token:
        return verify_token(database(), token)
    return verify_password(database(), given["name"], given["password"])


def _form(errors: dict[str, str], status: int) -> Response:
    values: dict[str, Any] = {"name": request.form.get("name", ""), "next": _inside(request.values.get("next", ""))}
    answer = make_response(render_template("login.html", errors=errors, **values), status)
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _inside(target: str) -> str:
    """The page to go to, if it is one of this site."""
    parts = urlsplit(target.replace("\\", "/"))
    inside = target.startswith("/") and not parts.scheme and not parts.netloc and not target.startswith("//")
    return target if inside and target.isprintable() else url_for("home.index")
