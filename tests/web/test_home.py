from __future__ import annotations

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from orchestrator.store.db import Database
from orchestrator.store.workers import WorkerInfo, announce, mark_stopped
from tests.web.conftest import client_of, signed_in


def _worker(name: str, kind: str = "worker") -> WorkerInfo:
    return WorkerInfo(
        id=name, kind=kind, host="here", pid=1, queues=["default"], concurrency=1, pool="prefork", version="0"
    )


def test_shows_how_many_workers_are_alive(client: FlaskClient, db: Database) -> None:
    with db.transaction() as conn:
        for name in ("a", "b", "gone"):
            announce(conn, _worker(name))
        announce(conn, _worker("beat", "beat"))
        mark_stopped(conn, "gone")
    page = signed_in(client, db).get("/").text
    assert 'Workers alive</th><td class="num">2<' in page
    assert "orchestrator register FILE" in page


def test_says_when_the_database_cannot_be_read(client: FlaskClient, db: Database, closed_port: int) -> None:
    session = signed_in(client, db).get_cookie("orchestrator_session")
    assert session is not None
    away = client_of(f"postgresql+psycopg2://127.0.0.1:{closed_port}/x", f"redis://127.0.0.1:{closed_port}/0")
    away.application.secret_key = client.application.secret_key
    away.set_cookie("orchestrator_session", session.value)
    answer = away.get("/")
    assert answer.status_code == 503
    assert "The database cannot be read" in answer.text
    assert "The database cannot be read" in away.post("/login", data={"token": "orc_" + "x" * 43}).text


def test_says_on_one_line_that_the_database_is_not_migrated(
    client: FlaskClient, db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    signed_in(client, db)
    with db.transaction() as conn:
        conn.execute(text("DROP SCHEMA public CASCADE"))
    assert "cannot be read" in client.get("/").text
    (told,) = [record.getMessage() for record in caplog.records]
    assert "orchestrator db upgrade" in told
    assert "\n" not in told
