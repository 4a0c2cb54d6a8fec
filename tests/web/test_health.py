from __future__ import annotations

import threading

import pytest
from flask.testing import FlaskClient
from sqlalchemy import text

from orchestrator.embedded import ServerUrls
from orchestrator.store.databases import drop_database, ensure_database
from orchestrator.store.db import Database
from tests.support import wait_for
from tests.web.conftest import client_of
from web.readiness import BoundedCheck, NotReady

PATIENT = 30.0  # a check that a busy machine is slow with has not failed


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a busy machine is slow with has not said no."""
    monkeypatch.setattr("web.readiness.BOUND_SECONDS", PATIENT)


@pytest.mark.usefixtures("patient")
def test_ready_when_servers_answer_and_schema_is_current(client: FlaskClient) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json == {
        "status": "ready",
        "checks": {"postgres": {"ok": True, "detail": None}, "broker": {"ok": True, "detail": None}},
    }


def test_alive_while_nothing_can_be_reached(closed_port: int) -> None:
    client = client_of(f"postgresql+psycopg2://127.0.0.1:{closed_port}/x", f"redis://127.0.0.1:{closed_port}/0")
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json) == (200, {"status": "ok"})


@pytest.mark.usefixtures("patient")
def test_unready_names_each_server_that_refuses(closed_port: int) -> None:
    client = client_of(f"postgresql+psycopg2://127.0.0.1:{closed_port}/x", f"redis://:pw@127.0.0.1:{closed_port}/0")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    checks = answer.get_json()["checks"]
    assert "cannot reach Postgres" in checks["postgres"]["detail"]
    assert "cannot reach the broker" in checks["broker"]["detail"]
    assert "pw" not in answer.text


@pytest.mark.timeout(30)
def test_unready_when_servers_take_the_connection_and_stay_silent(silent_port: int) -> None:
    client = client_of(f"postgresql+psycopg2://127.0.0.1:{silent_port}/x", f"amqp://127.0.0.1:{silent_port}//")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert not any(check["ok"] for check in answer.get_json()["checks"].values())


@pytest.mark.usefixtures("patient")
def test_unready_while_the_schema_is_missing(orchestrator_servers: ServerUrls, broker_url: str) -> None:
    url = orchestrator_servers.database_url.rpartition("/")[0] + "/not_migrated"
    ensure_database(url)
    answer = client_of(url, broker_url).get("/readyz")
    drop_database(url)
    assert answer.status_code == 503
    assert "orchestrator db upgrade" in answer.get_json()["checks"]["postgres"]["detail"]


@pytest.mark.usefixtures("patient")
def test_unready_while_the_schema_is_older_or_only_one_server_answers(
    database_url: str, broker_url: str, db: Database, closed_port: int
) -> None:
    away = client_of(database_url, f"redis://127.0.0.1:{closed_port}/0").get("/readyz")
    assert away.status_code == 503
    assert {name: check["ok"] for name, check in away.get_json()["checks"].items()} == {
        "postgres": True,
        "broker": False,
    }
    with db.transaction() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '0010'"))
    older = client_of(database_url, broker_url).get("/readyz")
    assert older.status_code == 503
    assert {name: check["ok"] for name, check in older.get_json()["checks"].items()} == {
        "postgres": False,
        "broker": True,
    }
    assert "to do: 0011, " in older.get_json()["checks"]["postgres"]["detail"]


@pytest.mark.usefixtures("patient")
def test_ready_on_a_schema_that_a_later_release_has_upgraded(client: FlaskClient, db: Database) -> None:
    with db.transaction() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert client.get("/readyz").status_code == 200


def test_a_check_that_never_ends_is_a_fault_and_costs_one_thread() -> None:
    forever = threading.Event()
    started = []

    def hang() -> None:
        started.append(threading.get_ident())
        forever.wait()

    check = BoundedCheck(hang, seconds=0.05)
    faults = [check.fault(check.start()) for _ in range(3)]
    wait_for(lambda: started, what="its thread has come so far")
    forever.set()
    assert faults == ["no answer within 0.05 seconds"] * 3
    assert len(started) == 1


def test_a_check_that_fails_in_a_way_nobody_thought_of_is_a_fault() -> None:
    def check() -> None:
        raise PermissionError("no right to look")

    failing = BoundedCheck(check, PATIENT)
    assert failing.fault(failing.start()) == "PermissionError: no right to look"


def test_a_check_is_made_anew_once_the_last_has_ended() -> None:
    said = iter([NotReady("broken"), None])

    def run() -> None:
        error = next(said)
        if error is not None:
            raise error

    check = BoundedCheck(run, PATIENT)
    assert check.fault(check.start()) == "broken"
    assert check.fault(check.start()) is None


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/static/app.css", "/login", "/nothing-here"])
def test_every_answer_carries_the_security_headers(client: FlaskClient, path: str) -> None:
    with client.get(path) as answer:
        headers = answer.headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
