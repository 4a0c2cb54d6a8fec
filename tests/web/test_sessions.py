"""Who comes in, how far, and for how long."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from orchestrator.config import Config
from orchestrator.domain.roles import Role
from orchestrator.services.tokens import revoke_token
from orchestrator.store.db import Database
from tests.web.conftest import signed_in
from tests.web.stage import Stage
from web import cookies
from web.app import create_app
from web.pages.frame import needs, page_blueprint

OPEN = ("static", "health.healthz", "health.readyz", "session.login_form", "session.login", "session.logout")


@pytest.fixture(scope="module")
def app(orchestrator_module_database_url: str) -> Iterator[Flask]:
    """The application with a few pages of the test's own."""
    app = create_app(Config(database_url=orchestrator_module_database_url, secret_key="k" * 32))
    own = page_blueprint("own")

    @own.post("/own/act")
    def act() -> str:
        return "done"

    @own.get("/own/secret")
    @needs(Role.ADMIN)
    def secret() -> str:
        return "secret"

    @own.get("/own/broken")
    def broken() -> str:
        raise RuntimeError("nobody thought of this")

    app.register_blueprint(own)
    yield app
    app.extensions["orchestrator.database"].close()


@pytest.fixture
def client(app: Flask, stage: Stage) -> FlaskClient:
    return app.test_client()


def _enter(client: FlaskClient, token: str) -> FlaskClient:
    assert client.post("/login", data={"token": token}).status_code == 303
    return client


def _csrf(client: FlaskClient) -> str:
    with client.session_transaction() as session:
        return str(session["csrf_token"])


def _pages(app: Flask) -> list[Rule]:
    apart = ("api", "static", "openapi", "metrics", "docs")  # for programs, or for everybody: tests of their own
    return [r for r in app.url_map.iter_rules() if r.endpoint not in OPEN and not r.rule.strip("/").startswith(apart)]


def test_no_page_is_seen_and_no_act_is_done_without_a_session(app: Flask, client: FlaskClient) -> None:
    pages = _pages(app)
    assert pages
    for rule in pages:
        path = rule.rule.replace("<int:position>", "1").replace("<run_id>", "x").replace("<", "").replace(">", "")
        for method in (rule.methods or set()) & {"GET", "POST"}:
            answer = client.open(path, method=method)
            if method == "POST":
                assert (answer.status_code, "Your session has ended" in answer.text) == (401, True), path
                answer = client.post(path, headers={"Sec-Fetch-Site": "cross-site"})
            assert answer.status_code == 303, (path, method, answer.text)
            assert answer.headers["Location"].startswith("/login")


def test_part_of_a_page_is_told_that_the_session_has_ended_and_leaves_the_page_as_it_is(client: FlaskClient) -> None:
    answer = client.get("/own/secret", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers.get("HX-Redirect")) == (401, None)
    assert "Your session has ended" in answer.text
    assert "secret" not in answer.text


def test_a_form_that_was_sent_without_a_session_is_kept_and_can_be_sent_after_signing_in(
    client: FlaskClient, stage: Stage
) -> None:
    _enter(client, stage.tokens["operator"])
    typed = {"csrf_token": _csrf(client), "note": "\n<b>'\"&"}
    client.delete_cookie("orchestrator_session")
    answer = client.post("/own/act", data=typed)
    assert answer.headers["Cache-Control"] == "no-store"
    kept = re.findall(r'<textarea name="([^"]*)" hidden>\n(.*?)</textarea>', answer.text, re.DOTALL)
    assert {name: html.unescape(value) for name, value in kept} == typed
    _enter(client, stage.tokens["operator"])
    assert client.post("/own/act", data=typed).text == "done"


def test_a_token_a_password_and_nothing_else_signs_in(client: FlaskClient, stage: Stage) -> None:
    answer = client.post("/login", data={"token": stage.tokens["viewer"], "next": "/own/secret"})
    assert answer.headers["Location"] == "/own/secret"
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie
    assert client.post("/login", data={"name": "admin", "password": "correct horse"}).status_code == 303
    for wrong in ({"token": "orc_no"}, {"name": "admin", "password": "wrong"}, {"name": "admin"}, {}):
        refused = client.post("/login", data=wrong)
        assert refused.status_code == 422
        assert "Set-Cookie" not in refused.headers


def test_the_cookie_is_for_https_only_where_the_page_came_by_it(client: FlaskClient, stage: Stage) -> None:
    headers = {"X-Forwarded-Proto": "https"}
    answer = client.post("/login", data={"token": stage.tokens["viewer"]}, headers=headers)
    assert "Secure" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    "next", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)", ""]
)
def test_login_leads_to_pages_of_this_site_only(client: FlaskClient, stage: Stage, next: str) -> None:
    answer = client.post("/login", data={"token": stage.tokens["viewer"], "next": next})
    assert answer.headers["Location"] == "/"


def test_another_site_signs_nobody_in(client: FlaskClient, stage: Stage) -> None:
    answer = client.post("/login", data={"token": stage.tokens["viewer"]}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


def test_a_session_ends_with_its_token(client: FlaskClient, module_db: Database) -> None:
    signed_in(client, module_db, Role.VIEWER)
    assert client.get("/").status_code == 200
    revoke_token(module_db, f"{Role.VIEWER} of None")
    client.application.extensions["orchestrator.identities"]._known.drop(lambda known: True)
    assert client.get("/").headers["Location"].startswith("/login")


def test_a_session_ends_by_itself(client: FlaskClient, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    _enter(client, stage.tokens["viewer"])
    with client.session_transaction() as session:
        session["began_at"] -= cookies.SESSION_SECONDS
    assert client.get("/").status_code == 303


def test_signing_out_ends_the_session(client: FlaskClient, stage: Stage) -> None:
    _enter(client, stage.tokens["viewer"])
    client.post("/logout", data={"csrf_token": "another's"})
    assert client.get("/").status_code == 200
    client.post("/logout", data={"csrf_token": _csrf(client)})
    assert client.get("/").status_code == 303


def test_an_act_needs_the_role_and_the_sessions_own_form(app: Flask, stage: Stage) -> None:
    viewer, operator = (_enter(app.test_client(), stage.tokens[role]) for role in ("viewer", "operator"))
    assert viewer.post("/own/act", data={"csrf_token": _csrf(viewer)}).status_code == 403
    assert operator.post("/own/act").status_code == 403
    assert operator.post("/own/act", data={"csrf_token": _csrf(viewer)}).status_code == 403
    assert operator.post("/own/act", data={"csrf_token": _csrf(operator)}).text == "done"
    assert operator.post("/own/act", headers={"X-CSRF-Token": _csrf(operator)}).text == "done"


def test_a_page_for_admins_is_for_no_other(app: Flask, stage: Stage) -> None:
    author, admin = (_enter(app.test_client(), stage.tokens[role]) for role in ("author", "admin"))
    assert author.get("/own/secret").status_code == 403
    assert admin.get("/own/secret").text == "secret"


def test_what_is_not_there_and_what_breaks_have_pages(client: FlaskClient, stage: Stage) -> None:
    _enter(client, stage.tokens["viewer"])
    answer = client.get("/nowhere/<b>")
    assert answer.status_code == 404
    assert "/nowhere/&lt;b&gt;" in answer.text
    broken = client.get("/own/broken", headers={"X-Request-ID": "r-17"})
    assert broken.status_code == 500
    assert "r-17" in broken.text
    assert "nobody thought of this" not in broken.text
