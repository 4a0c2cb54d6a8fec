"""Alerts in a real browser: made, tried, looked at, paused, changed and deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import text

from orchestrator.services.alert_rules import set_rule, try_rule
from orchestrator.services.deliver_alerts import opened
from orchestrator.services.hooks import HookSpec, create_hook
from orchestrator.services.seal import Seal
from orchestrator.store import alert_deliveries
from orchestrator.store.reads.alerts import get_rule
from orchestrator.store.reads.runs import RunFilters, list_runs
from tests.support import wait_for
from tests.web.browser import PHONE, SECRET_KEY, Reader
from tests.web.stage import MARKUP, Stage
from workers.post import post

NAME = "on-call #1: 100%"
URL = "https://hooks.example.com/T0/very-secret-part"


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str, stage: Stage) -> Iterator[Reader]:
    one = Reader(browser, address, stage.tokens["admin"], timezone_id="Asia/Tokyo")
    yield one
    one.close()


def test_an_alert_is_made_tried_and_paused(reader: Reader, stage: Stage) -> None:
    page = reader.open("/")
    page.get_by_role("link", name="Alerts", exact=True).click()
    expect(page.get_by_text("Nobody is told of failures")).to_be_visible()
    page.get_by_role("link", name="Make one").click()
    page.get_by_label("Name", exact=True).fill(NAME)
    page.get_by_label("A queue is stuck steps wait").check()
    page.get_by_label("Webhook", exact=True).fill("hooks.example.com")
    page.get_by_label("Severity").select_option("critical")
    page.get_by_role("button", name="Make the alert").click()
    expect(page.locator("#f-webhook-error")).to_contain_text("must be an http:// or https:// URL")
    expect(page.get_by_label("A queue is stuck steps wait")).to_be_checked()
    reader.check_access()
    page.get_by_label("Webhook", exact=True).fill(URL)
    page.get_by_label("Mail to").fill("a@x.example, b@x.example")
    page.get_by_role("button", name="Make the alert").click()
    expect(page.get_by_role("heading", name=NAME)).to_be_visible()
    expect(page.get_by_role("region", name="Rule")).to_contain_text("https://hooks.example.com/…")
    expect(page.locator("body")).not_to_contain_text("very-secret-part")
    reader.check_access()
    page.get_by_role("link", name="Test…").click()
    expect(page.get_by_role("dialog")).to_contain_text("a@x.example, b@x.example")
    reader.check_access()
    page.get_by_role("button", name="Send it").click()
    messages = page.get_by_role("region", name="Messages").locator("tbody tr")
    expect(messages).to_have_count(2)
    expect(messages.first).to_contain_text("on its way")
    with stage.hands.db.transaction() as conn:
        conn.execute(
            text("UPDATE alert_deliveries SET attempts = 1, error = :error"), {"error": f"answered 500: {MARKUP}"}
        )
    expect(messages.first).to_contain_text(f"answered 500: {MARKUP}")
    expect(page.get_by_role("alert")).to_contain_text("Its last message has not arrived")
    reader.check_access()
    page.get_by_role("link", name="Pause…").click()
    page.get_by_label("Reason").fill(MARKUP)
    page.get_by_role("button", name="Pause it").click()
    expect(page.get_by_text(f"Paused by web:admin: {MARKUP}")).to_be_visible()
    page.get_by_role("link", name="Resume…").click()
    page.get_by_role("button", name="Resume it").click()
    expect(page.get_by_text("The alert tells again.")).to_be_visible()
    reader.never_scripted()
    reader.complaints.clear()  # the browser tells of every 422


def test_a_phone_shows_all_of_it_and_a_change_keeps_what_is_not_shown(reader: Reader, stage: Stage) -> None:
    page = reader.page
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    set_rule(stage.hands.engine, Seal(None), "other", {"kinds": ["schedule_late"], "emails": ["a@x.example"]}, app="*")
    with stage.hands.db.transaction() as conn:
        before = get_rule(conn, NAME)
        stored = conn.execute(text("SELECT url FROM alert_rules WHERE id = :id"), before).scalar_one()
    for path in ("/alerts", f"/alerts/rule?id={before['id']}", f"/alerts/edit?id={before['id']}"):
        reader.open(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        reader.check_access()
    page.get_by_label("Tell again after").fill("30")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#f-repeat_seconds-error")).to_contain_text("from 60 to")
    page.get_by_label("Tell again after").fill("7200")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Rule")).to_contain_text("told again after 2 h")
    with stage.hands.db.transaction() as conn:
        assert conn.execute(text("SELECT url FROM alert_rules WHERE id = :id"), before).scalar_one() == stored
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    reader.complaints.clear()


def test_two_installations_fit_together(reader: Reader, address: str, stage: Stage) -> None:
    """An alert of the one calls a hook of the other, which starts one run, however often the message is sent."""
    engine, seal = stage.hands.engine, Seal(SECRET_KEY)
    spec = HookSpec("note", input={"to": "{{ body.title }}"}, idempotency_key="{{ body.id }}")
    hook = create_hook(engine, seal, "alarms", spec)
    given = {"kinds": ["run_failed"], "webhook": f"{address}/api/v1/hooks/{hook.id}", "secret": hook.secret}
    set_rule(engine, seal, "upstairs", given)
    try_rule(engine, "upstairs")
    with engine.db.transaction() as conn:
        row = alert_deliveries.claim(conn, 9, 60.0)[-1]
    delivery = opened(row, seal, {}, ())
    post(delivery)
    sent_at = int(time.time())
    wait_for(lambda: int(time.time()) > sent_at, what="the next second, whose signature is another")
    post(delivery)
    with engine.db.transaction() as conn:
        runs = [run["input"] for run in list_runs(conn, RunFilters(workflow="note")).items]
    assert runs.count({"to": "[test] this is a test of the alert rule 'upstairs'"}) == 1
