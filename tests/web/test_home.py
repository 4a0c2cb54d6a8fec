"""Home: what needs a person, and the way from there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Locator, expect
from sqlalchemy import text

from orchestrator.domain.roles import Role
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.tokens import create_token
from orchestrator.store.db import Database
from orchestrator.store.workers import WorkerInfo, announce, mark_stopped
from tests.web.browser import PHONE, Reader
from tests.web.conftest import client_of, signed_in
from tests.web.stage import MARKUP, ORDER, Stage


def worker(name: str, kind: str = "worker") -> WorkerInfo:
    return WorkerInfo(
        id=name, kind=kind, host="here", pid=1, queues=["default"], concurrency=1, pool="prefork", version="0"
    )


def test_at_the_beginning_it_says_how_to_begin_and_who_is_alive(client: FlaskClient, db: Database) -> None:
    with db.transaction() as conn:
        for name in ("a", "b", "gone"):
            announce(conn, worker(name))
        announce(conn, worker("beat", "beat"))
        mark_stopped(conn, "gone")
    page = signed_in(client, db).get("/").text
    assert '<span class="tile-number">2</span><span class="tile-words">workers alive<' in page
    assert "orchestrator register FILE" in page
    assert "Nothing needs you" in page


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


NIGHTLY = {
    "name": "nightly",
    "steps": [{"name": "settle", "function": "shop.charge", "input": {"amount": 1, "fail": True}}],
}
LONELY = {"name": "lonely", "timeout": 60, "steps": [{"name": "wait", "function": "shop.reserve", "queue": "nobody's"}]}


@pytest.fixture(scope="module")
def night(stage: Stage) -> list[str]:
    """Two runs that failed last night, one stuck in a queue nobody listens to and past half of its time."""
    hands = stage.hands
    register(hands.engine, NIGHTLY, actor="test")
    register(hands.engine, LONELY, actor="test")
    failed = [start(hands.engine, "nightly").run_id for _ in range(2)]
    hands.work()
    late = start(hands.engine, "lonely").run_id
    with hands.db.transaction() as conn:
        conn.execute(
            text("""UPDATE workflow_runs SET created_at = created_at - interval '50 seconds',
                deadline_at = deadline_at - interval '50 seconds' WHERE id = :id"""),
            {"id": late},
        )
    return failed


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str, stage: Stage, night: list[str]) -> Iterator[Reader]:
    one = Reader(browser, address, stage.tokens["operator"])
    yield one
    one.close()


def test_shows_what_needs_a_person_and_data_stays_text(reader: Reader, stage: Stage) -> None:
    page = reader.open("/")
    causes = page.get_by_role("region", name="Failed, by cause")
    expect(causes.locator("tbody tr")).to_have_count(2)
    expect(causes.locator("tbody tr").first).to_contain_text(f"ValueError: card was declined: {MARKUP}")
    expect(causes.locator("tbody tr").first.get_by_role("link", name="2 runs of nightly that failed")).to_be_visible()
    expect(page.get_by_role("region", name="Stuck")).to_contain_text("Queue nobody's: 1 step is ready")
    expect(page.get_by_role("region", name="Past half of their time")).to_contain_text("lonely")
    expect(page.get_by_role("region", name="Approvals that wait").locator("li")).to_have_count(2)
    expect(page.get_by_role("group", name="Runs over time")).to_be_visible()
    expect(page.get_by_role("region", name="How long they took").get_by_role("img")).to_be_visible()
    expect(page.get_by_text("Counting older")).to_have_count(0)  # what is counted anew takes the place of all of it
    page.get_by_text("As a table").first.click()
    reader.look_again("#home-over-time")
    expect(page.get_by_role("columnheader", name="By status")).to_be_visible()
    reader.never_scripted()
    reader.check_access()


def test_on_a_phone_too(browser: Browser, address: str, stage: Stage, night: list[str]) -> None:
    reader = Reader(browser, address, stage.tokens["viewer"], viewport=PHONE)
    expect(reader.page.get_by_role("region", name="Failed, by cause")).to_be_visible()
    assert reader.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    expect(reader.page.get_by_text("Retry")).to_have_count(0)
    reader.check_access()
    reader.close()


class Clicks:
    """Counts what an operator does."""

    def __init__(self) -> None:
        self.count = 0

    def on(self, target: Locator) -> None:
        self.count += 1
        target.click()


def test_why_last_nights_run_failed_is_found_and_it_goes_on_within_five_clicks(
    reader: Reader, stage: Stage, night: list[str]
) -> None:
    page, clicks = reader.open("/"), Clicks()
    row = page.get_by_role("region", name="Failed, by cause").locator("tr", has_text=ORDER["name"])
    clicks.on(row.get_by_role("link", name="Newest run"))
    page.wait_for_url(f"**/runs/{stage.failed}")
    expect(page.get_by_text("card was declined").first).to_be_visible()
    clicks.on(page.get_by_role("link", name="Retry…"))
    expect(page.get_by_role("dialog")).to_contain_text("run again")
    clicks.on(page.get_by_role("dialog").get_by_role("button", name="Retry"))
    expect(page.get_by_text("The run goes on")).to_be_visible()
    assert stage.hands.status(stage.failed) == "running"
    assert clicks.count < 5


def test_all_runs_that_failed_of_one_cause_are_retried_after_a_look(
    reader: Reader, stage: Stage, night: list[str]
) -> None:
    page, clicks = reader.open("/"), Clicks()
    row = page.get_by_role("region", name="Failed, by cause").locator("tr", has_text="nightly")
    clicks.on(row.get_by_role("link", name="Retry all…"))
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 runs")
    clicks.on(dialog.get_by_role("button", name="Retry 2 runs"))
    expect(dialog).to_contain_text("2 done")
    assert [stage.hands.status(id) for id in night] == ["running", "running"]
    assert clicks.count < 5


def test_of_another_app_nothing_is_seen(module_db: Database, stage: Stage, address: str, browser: Browser) -> None:
    register(stage.hands.engine, {"name": "own", "steps": [{"name": "a", "pass": True}]}, app="other", actor="test")
    token = create_token(module_db, "other's", Role.OPERATOR, app="other").token
    reader = Reader(browser, address, token)
    expect(reader.page.get_by_text("Nothing needs you")).to_have_count(0)  # the queue nobody listens to is everybody's
    expect(reader.page.get_by_role("region", name="Stuck")).to_be_visible()
    for hidden in ("nightly", "lonely", "Refund", ORDER["name"]):
        expect(reader.page.locator("main")).not_to_contain_text(hidden)
    reader.close()
