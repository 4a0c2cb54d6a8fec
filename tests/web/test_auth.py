"""Who asks: tokens, sessions, passwords, and what failing costs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask, jsonify, session
from flask.typing import ResponseReturnValue

from orchestrator.config import Config
from orchestrator.domain.roles import Role
from orchestrator.services.tokens import create_token, revoke_token
from orchestrator.store.db import Database
from web.app import create_app
from web.auth import (
    actor,
    begin_session,
    current_identity,
    end_session,
    forget_token,
    identity_of_token_id,
    require,
    verify_password,
    verify_token,
)
from web.errors import Refused, TooManyRequests
from web.failures import Failures
from web.identities import Identities


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def app(orchestrator_module_database_url: str, broker_url: str) -> Iterator[Flask]:
    """The application with a few views of the test's own."""
    config = Config(database_url=orchestrator_module_database_url, broker_url=broker_url, secret_key="x" * 16)
    app = create_app(config)

    @app.route("/whoami", methods=["GET", "POST"])
    @require(Role.OPERATOR)
    def whoami() -> ResponseReturnValue:
        identity = current_identity()
        return jsonify(name=identity.name, role=str(identity.role), actor=actor())

    @app.errorhandler(Refused)
    def refused(error: Refused) -> ResponseReturnValue:
        return str(error), error.status

    yield app
    app.extensions["orchestrator.database"].close()


def db_of(app: Flask) -> Database:
    db: Database = app.extensions["orchestrator.database"]
    return db


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_token_is_asked_for_and_its_role_must_do(app: Flask) -> None:
    client = app.test_client()
    operator = create_token(db_of(app), "operator", Role.OPERATOR).token
    viewer = create_token(db_of(app), "viewer", Role.VIEWER).token
    assert client.get("/whoami").status_code == 401
    assert client.get("/whoami", headers=bearer("orc_no")).status_code == 401
    assert client.get("/whoami", auth=("operator", operator)).status_code == 401
    refused = client.get("/whoami", headers=bearer(viewer))
    assert (refused.status_code, refused.text) == (403, "this takes the role operator, and 'viewer' is viewer")
    found = client.post("/whoami", headers=bearer(operator)).json
    assert found == {"name": "operator", "role": "operator", "actor": "api:operator"}


def test_a_session_reads_and_ends_with_its_token(app: Flask) -> None:
    client, db = app.test_client(), db_of(app)
    made = create_token(db, "anna", Role.ADMIN, password="correct horse")
    with app.test_request_context(environ_base={"REMOTE_ADDR": "10.0.0.1"}):
        assert verify_password(db, "anna", "wrong") is None
        identity = verify_password(db, "anna", "correct horse")
        assert identity is not None
        assert identity == verify_token(db, made.token) == identity_of_token_id(db, made.id)
        begin_session(identity)
        kept = dict(session)
        end_session()
        assert not session
    with client.session_transaction() as cookies:
        cookies.update(kept)
    assert client.get("/whoami").json == {"name": "anna", "role": "admin", "actor": "web:anna"}
    assert client.post("/whoami").status_code == 401
    revoke_token(db, "anna")
    with app.app_context():
        forget_token(db, made.id)
    assert client.get("/whoami").status_code == 401


def test_an_address_that_fails_too_often_waits_and_a_valid_token_does_not(app: Flask) -> None:
    client, db = app.test_client(), db_of(app)
    made = create_token(db, "bob", Role.OPERATOR, password="correct horse")
    answers = [client.get("/whoami", headers=bearer(f"orc_{n}")).status_code for n in range(12)]
    assert answers == [401] * 10 + [429] * 2
    assert client.get("/whoami", headers=bearer(made.token)).status_code == 200
    with (
        app.test_request_context(environ_base={"REMOTE_ADDR": "127.0.0.1"}),
        pytest.raises(TooManyRequests) as refused,
    ):
        verify_password(db, "bob", "correct horse")
    assert 0 < (refused.value.retry_after or 0) <= 60
    assert client.get("/whoami", headers=bearer("orc_x"), environ_base={"REMOTE_ADDR": "10.0.0.2"}).status_code == 401


def test_failures_are_forgotten_and_never_more_than_so_many_addresses_are_kept() -> None:
    clock = Clock()
    failures = Failures(most=2, seconds=60, clock=clock)
    for _ in range(2):
        failures.check("a")
        failures.note("a")
    with pytest.raises(TooManyRequests):
        failures.check("a")
    clock.now += 61
    failures.check("a")
    failures.note("a")
    failures.check("a")
    for number in range(20_000):
        failures.note(str(number))
    assert len(failures._counts) == 10_000


def test_a_token_revoked_elsewhere_is_known_for_seconds_and_one_revoked_here_no_longer(module_db: Database) -> None:
    clock = Clock()
    identities = Identities(module_db, clock)
    made = create_token(module_db, "elsewhere", Role.VIEWER)
    here = create_token(module_db, "here", Role.VIEWER)
    assert identities.of_token(made.token) == identities.of_id(made.id) is not None
    assert identities.of_token(here.token) is not None
    revoke_token(module_db, "elsewhere")
    revoke_token(module_db, "here")
    identities.forget(here.id)
    assert identities.of_token(here.token) is None
    assert identities.of_token(made.token) is not None
    clock.now += 6
    assert identities.of_token(made.token) is identities.of_id(made.id) is None
