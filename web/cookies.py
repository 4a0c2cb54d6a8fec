"""The session's cookie, and how long it holds."""

from __future__ import annotations

import hmac
import time

from flask import Flask, Request, current_app, request, session
from flask.sessions import SecureCookieSession, SecureCookieSessionInterface

from orchestrator.services.tokens import Identity
from web.auth import begin_session

SESSION_SECONDS = 12 * 3600  # then one signs in again
_BEGAN, _TOKEN = "began_at", "csrf_token"
_HEADER = "X-CSRF-Token"


class Cookies(SecureCookieSessionInterface):
    """Signed cookies that a browser sends over HTTPS only, once it has come by it."""

    def open_session(self, app: Flask, request: Request) -> SecureCookieSession | None:
        """Programs send no cookie: making what checks its signature would cost each of their requests a twentieth."""
        if self.get_cookie_name(app) not in request.cookies:
            return self.session_class()
        return super().open_session(app, request)

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure or request.headers.get("X-Forwarded-Proto", "").startswith("https")


def sign_in(identity: Identity) -> None:
    """Begin the browser's session. It ends with the token, with `SESSION_SECONDS`, or when the person signs out.

    Its forms are those of every session of the same token: what stands in another tab can be sent after signing in.
    """
    begin_session(identity)
    session[_BEGAN] = int(time.time())
    key = str(current_app.secret_key).encode()
    session[_TOKEN] = hmac.new(key, f"csrf {identity.token_id}".encode(), "sha256").hexdigest()


def end_old_sessions() -> None:
    """To be called before each request: a session that is too old is none."""
    if session and not 0 <= time.time() - session.setdefault(_BEGAN, int(time.time())) < SESSION_SECONDS:
        session.clear()


def csrf_token() -> str:
    """What this session's forms carry, so that no other site can send them."""
    return str(session.get(_TOKEN, ""))


def is_own_form() -> bool:
    """Whether the request carries the session's own token, in its form or in a header."""
    given = request.headers.get(_HEADER) or request.form.get("csrf_token", "")
    return bool(csrf_token()) and hmac.compare_digest(given.encode(), csrf_token().encode())


def is_from_here() -> bool:
    """Whether the browser says that this site's own page sent it; of a form that nobody is signed in for."""
    return request.headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
