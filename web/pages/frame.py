"""What every page stands in: somebody is signed in, may do this, and meant it. docs/architecture.md tells more.

`page_blueprint(name)` makes a blueprint whose views nobody sees without a session. A view that changes something needs
the role `operator`, or the one that `@needs` says, and the session's CSRF token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flask import Blueprint, Response, current_app, flash, g, make_response, redirect, request, url_for
from flask import render_template as render_flask

from orchestrator.domain.roles import Role
from orchestrator.errors import InvalidInput, NotFound, Problem
from orchestrator.services.tokens import Identity
from web.auth import READS, sees, session_identity
from web.cookies import is_from_here, is_own_form
from web.errors import Forbidden
from web.pages.faults import show_again, show_fault

View = TypeVar("View", bound=Callable[..., Any])


def page_blueprint(name: str) -> Blueprint:
    """A blueprint of pages for those who are signed in."""
    pages = Blueprint(name, __name__)
    pages.before_request(_guard)
    pages.after_request(_uncached)
    return pages


def needs(role: Role) -> Callable[[View], View]:
    """Only who has this role, or a higher one, comes to the view."""

    def mark(view: View) -> View:
        view.needs = role  # type: ignore[attr-defined]
        return view

    return mark


def identity() -> Identity:
    """Who is signed in."""
    known: Identity = g.identity
    return known


def scope(asked: str | None = None) -> str | None:
    """The app a list is to be of: the one `asked` for, None for all; raises `Forbidden` for one that is closed."""
    if asked is not None and not sees(asked):
        raise Forbidden(f"app '{asked}' is not open to you")
    return identity().app or asked


def check_scope(app: str) -> None:
    """Raises `NotFound` for what belongs to an app that is closed to who is signed in."""
    if not sees(app):
        raise NotFound("it is not there, or not open to you")


def is_fragment() -> bool:
    """Whether htmx asks for a part of a page."""
    return "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers


def render(template: str, **values: Any) -> str:
    """The template; `layout` is what a dialog's template extends."""
    layout = "ui/dialog.html" if is_fragment() else "ui/alone.html"
    return render_flask(template, layout=layout, **values)


def show_errors(template: str, **values: Any) -> Response:
    """The form once more, saying what is wrong with it."""
    return make_response(render(template, **values), 422)


def done(target: str, message: str | None = None) -> Response:
    """Go to a page after an act, which says there what was done."""
    if message:
        flash(message, "done")
    if not is_fragment():
        return make_response(redirect(target, 303))
    answer = make_response("")
    answer.headers["HX-Redirect"] = target
    return answer


def _guard() -> Response | None:
    known = session_identity()
    if known is None:
        return _to_login()
    g.identity = known
    view = current_app.view_functions.get(request.endpoint or "")
    least = getattr(view, "needs", Role.VIEWER if request.method in READS else Role.OPERATOR)
    if known.role < least:
        raise Forbidden(f"this takes the role {least}, and you are {known.role}")
    if request.method not in READS and not is_own_form():
        raise Forbidden("the form is from another session than yours: open the page again, and repeat it there")
    _check_texts()
    return None


def _check_texts() -> None:
    """Postgres holds no NUL: what has one names nothing, and can be kept nowhere."""
    for given in (request.args, request.form):
        for name, text in given.items(multi=True):
            if "\0" in text:
                raise InvalidInput([Problem(name, "a text cannot hold the character NUL")], "this cannot be read")


def _to_login() -> Response:
    """To the login; who is in the middle of something keeps what was typed, signs in elsewhere, and goes on."""
    if is_fragment():
        return show_fault(401, "Your session has ended, and nothing was done.")
    if request.method == "GET":
        return make_response(redirect(url_for("session.login_form", next=request.full_path.rstrip("?")), 303))
    if not is_from_here():
        return make_response(redirect(url_for("session.login_form"), 303))
    return show_again(401, "Your session has ended", sign_in=True)


def _uncached(response: Response) -> Response:
    response.headers.setdefault("Cache-Control", "no-store")
    return response
