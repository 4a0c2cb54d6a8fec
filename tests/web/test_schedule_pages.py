"""Schedules in a real browser: made, looked at, fired, paused, backfilled, changed and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import text

from orchestrator.services.coordinate import tick
from orchestrator.services.schedules import pause_schedule, set_schedule
from orchestrator.store.reads.runs import RunFilters, list_runs
from orchestrator.store.reads.schedules import get_schedule
from tests.web.browser import PHONE, Reader
from tests.web.stage import MARKUP, Stage

NAME = "nightly/report #1: 100%"


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str, stage: Stage) -> Iterator[Reader]:
    one = Reader(browser, address, stage.tokens["admin"], timezone_id="Asia/Tokyo")
    yield one
    one.close()


def test_a_schedule_is_made_with_its_next_fire_times_told_while_it_is_typed(reader: Reader, stage: Stage) -> None:
    page = reader.open("/")
    page.get_by_role("link", name="Schedules", exact=True).click()
    expect(page.get_by_text("No schedules")).to_be_visible()
    page.get_by_role("link", name="Make one").click()
    page.get_by_label("Name", exact=True).fill(NAME)
    page.get_by_label("Workflow").fill("notte")
    preview = page.locator("#preview")
    expect(preview.locator("li")).to_have_count(5)
    page.get_by_label("Minute, hour").fill("99 * * * *")
    expect(preview).to_contain_text("bad minute")
    page.get_by_label("Minute, hour").fill("30 2 * * *")
    page.get_by_label("Time zone").fill("Europe/London")
    page.get_by_label("Input").fill('{"to": "{{ fire_at }}"}')
    page.get_by_role("button", name="Make the schedule").click()
    expect(page.locator("#f-workflow-error")).to_contain_text("did you mean 'note'?")
    page.get_by_label("Workflow").fill("note")
    reader.check_access()
    page.get_by_label("While a run of it is open").select_option("allow")
    page.get_by_role("button", name="Make the schedule").click()
    expect(page.get_by_role("heading", name=NAME)).to_be_visible()
    expect(page.get_by_role("region", name="Rule")).to_contain_text("30 2 * * * in Europe/London")
    expect(page.get_by_role("region", name="Next fire times").locator("li")).to_have_count(5)
    reader.check_access()
    with stage.hands.db.transaction() as conn:
        made = get_schedule(conn, NAME)
    assert (made["overlap"], made["created_by"]) == ("allow", "web:admin")
    reader.complaints.clear()  # the browser tells of every 422


def test_it_is_fired_paused_and_resumed(reader: Reader, stage: Stage) -> None:
    page = reader.open("/schedules")
    row = page.locator("tbody tr", has_text=NAME)
    expect(row).to_contain_text("active")
    row.get_by_role("link", name="Fire…").click()
    expect(page.get_by_role("dialog")).to_contain_text("A run of note is started now")
    page.get_by_role("button", name="Start a run").click()
    expect(page.locator(".run-facts")).to_contain_text(f"by schedule {NAME}")
    page.get_by_role("link", name=NAME).click()
    expect(page.get_by_role("region", name="Fire times", exact=True).locator("tbody tr")).to_contain_text("by hand")
    page.get_by_role("link", name="Pause…").click()
    page.get_by_label("Reason").fill(MARKUP)
    page.get_by_role("button", name="Pause it").click()
    expect(page.get_by_text(f"Paused by web:admin: {MARKUP}")).to_be_visible()
    expect(page.get_by_text("None while it is paused.")).to_be_visible()
    page.get_by_role("link", name="Resume…").click()
    page.get_by_role("button", name="Resume it").click()
    expect(page.get_by_role("region", name="Next fire times").locator("li")).to_have_count(5)
    page.get_by_role("link", name="All its runs").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    reader.never_scripted()


def test_a_backfill_shows_what_it_would_start_before_it_does(reader: Reader, stage: Stage) -> None:
    with stage.hands.db.transaction() as conn:
        made = get_schedule(conn, NAME)
    id = made["id"]
    page = reader.open(f"/schedules/schedule?id={id}")
    page.get_by_role("link", name="Backfill…").click()
    # Three before the one that a coordinator is to decide, whatever the hour, and on nights when clocks change.
    since = datetime.fromisoformat(made["next_fire_at"]).astimezone(UTC) - timedelta(days=3, hours=12)
    page.get_by_label("From (UTC)").fill(f"{since:%Y-%m-%dT%H:%M}")
    page.get_by_label("At once").check()
    page.get_by_role("button", name="Show what that is").click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("3 runs start")
    reader.check_access()
    page.get_by_role("button", name="Start 3 runs").click()
    expect(page.get_by_text("3 runs are started.")).to_be_visible()
    expect(page.get_by_role("region", name="Fire times", exact=True).locator("tbody tr")).to_have_count(4)
    with stage.hands.db.transaction() as conn:
        assert len(list_runs(conn, RunFilters(schedule=id)).items) == 4
    reader.complaints.clear()


def test_home_and_workflows_tell_of_schedules(reader: Reader, stage: Stage) -> None:
    engine = stage.hands.engine
    set_schedule(engine, "broken", {"workflow": "note", "interval_seconds": 60})
    set_schedule(engine, "behind", {"workflow": "note", "interval_seconds": 60})
    pause_schedule(engine, "broken", actor="engine", reason="3 runs in a row failed")
    with stage.hands.db.transaction() as conn:
        conn.execute(text("UPDATE schedules SET due_at = now() - interval '5 minutes' WHERE name = 'behind'"))
    page = reader.open("/")
    wanting = page.get_by_role("region", name="Schedules")
    expect(wanting).to_contain_text("behind: late, no coordinator has fired it")
    expect(wanting).to_contain_text("broken: paused, 3 runs in a row failed")
    reader.check_access()
    page.goto("/schedules?standing=late")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("late")
    page.goto("/workflows?q=note")
    expect(page.locator("tbody tr", has_text="note").locator("[data-label='Next fire'] time")).to_be_visible()
    tick(engine)
    page.goto("/schedules")
    expect(page.locator("tbody tr")).to_have_count(3)
    reader.check_access()


def test_a_phone_shows_all_of_it_and_a_change_is_kept(reader: Reader, stage: Stage) -> None:
    page = reader.page
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    with stage.hands.db.transaction() as conn:
        id = get_schedule(conn, "behind")["id"]
    for path in ("/schedules", f"/schedules/schedule?id={id}", f"/schedules/edit?id={id}"):
        reader.open(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    reader.check_access()
    expect(page.get_by_label("again and again")).to_be_checked()
    page.get_by_label("Each so many seconds").fill("0")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#f-interval_seconds-error")).to_contain_text("from 1 to")
    page.get_by_label("Each so many seconds").fill("7200")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Rule")).to_contain_text("each 2 h")
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("The schedule 'behind' is deleted.")).to_be_visible()
    reader.complaints.clear()
