"""The list of runs in a real browser."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.store.db import Database
from tests.hands import audited
from tests.web.browser import PHONE, Reader
from tests.web.stage import MARKUP, ORDER, Stage


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str, stage: Stage) -> Iterator[Reader]:
    one = Reader(browser, address, stage.tokens["operator"])
    yield one
    one.close()


def _over_time(reader: Reader, path: str) -> Page:
    """The list with all of its histogram: a first look may count the newest part alone, and then asks again."""
    page = reader.open(path)
    expect(page.locator("svg.histogram")).to_be_visible()
    expect(page.get_by_text("Counting older")).to_have_count(0)
    return page


def test_every_run_is_listed_newest_first_and_data_stays_text(reader: Reader, stage: Stage) -> None:
    page = reader.open("/runs")
    expect(page.locator("tbody tr").first).to_have_attribute("data-id", stage.running)
    expect(page.locator(f"tr[data-id='{stage.failed}']")).to_contain_text(f"charge: card was declined: {MARKUP}")
    expect(page.locator(f"tr[data-id='{stage.paused}']")).to_contain_text("lunch <script>")
    reader.never_scripted()
    reader.check_access()


def test_filters_are_chips_and_leave_one_by_one(reader: Reader, stage: Stage) -> None:
    page = reader.open("/runs")
    page.get_by_role("group", name="Status").get_by_role("link", name="failed").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.goto("/runs?tag=eu&tag=vip")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Without tag vip").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    page.goto("/runs?workflow=nothing-like-it")
    expect(page.get_by_text("there is no workflow 'nothing-like-it'")).to_be_visible()


def test_search_finds_a_run_by_the_end_of_its_id_and_runs_by_what_they_say(reader: Reader, stage: Stage) -> None:
    page = reader.open("/runs")
    page.keyboard.press("/")
    page.keyboard.type(stage.failed[-8:])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/runs/{stage.failed}")
    page.goto("/runs")
    page.get_by_role("searchbox").fill(f'declined workflow:"{ORDER["name"]}"')
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator(".applied")).to_contain_text(f"workflow {ORDER['name']}")
    expect(page.locator(".applied")).to_contain_text("error declined")


def test_runs_over_time_narrow_the_list_with_a_click(reader: Reader) -> None:
    page = _over_time(reader, "/runs?range=1h")
    bar = page.locator(".histogram-bar").last
    expect(page.locator(".histogram")).to_have_attribute("aria-label", re.compile("1 failed"))
    bar.click(force=True)
    page.wait_for_url("**/runs?since=*")
    expect(page.locator(".applied")).to_contain_text("time")


def test_keys_go_through_rows_and_a_selection_outlives_the_next_look(reader: Reader, stage: Stage) -> None:
    page = reader.open("/runs")
    for key in ("j", "j", "x"):
        page.keyboard.press(key)
    second = page.locator("tbody tr").nth(1)
    expect(second.locator("input")).to_be_checked()
    expect(page.get_by_text("Acts on 1 selected:")).to_be_visible()
    with page.expect_response(lambda answer: answer.request.headers.get("hx-target") == "runs-list"):
        page.evaluate("htmx.trigger('#runs-list', 'live')")
    expect(page.locator("tbody tr").nth(1)).to_have_class("at")
    expect(page.locator("tbody tr").nth(1).locator("input")).to_be_checked()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/runs/[0-9a-f-]{36}"))


def test_a_list_acts_from_the_moment_it_is_there_anew(reader: Reader) -> None:
    page = reader.open("/runs")
    page.evaluate("""() => {
        const click = () => document.querySelector("#runs-list a[hx-get]").click();
        addEventListener("htmx:afterSwap", ({ target }) => { if (target.id === "runs-list") setTimeout(click); });
        htmx.trigger("#runs-list", "live");
    }""")
    expect(page.locator("dialog#dialog")).to_be_visible()


def test_a_view_is_saved_in_this_browser(reader: Reader) -> None:
    page = reader.open("/runs?status=failed")
    page.get_by_text("Views").click()
    page.get_by_label("Save these filters as").fill("<b>bad</b>")
    page.get_by_role("button", name="Save").click()
    page.goto("/runs")
    page.get_by_text("Views").click()
    page.get_by_role("link", name="<b>bad</b>").click()
    expect(page).to_have_url(re.compile("status=failed"))


def test_an_act_on_all_that_match_shows_them_first(reader: Reader, stage: Stage, module_db: Database) -> None:
    page = reader.open("/runs?tag=eu")
    page.get_by_role("link", name="Rerun…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 runs: 1 succeeded, 1 failed")
    reader.check_access()
    dialog.get_by_label("Reason").fill("once more")
    dialog.get_by_role("button", name="Rerun 2 runs").click()
    expect(dialog.get_by_role("status")).to_have_text("2 done")
    with module_db.transaction() as conn:
        assert audited(conn, "rerun") == [
            ("web:operator", stage.failed, "once more"),
            ("web:operator", stage.succeeded, "once more"),
        ]
    page.goto("/runs")
    page.get_by_role("link", name="Cancel…").click()
    expect(dialog).to_contain_text("all runs are never meant")


def test_pages_go_both_ways(reader: Reader, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["web.pages.runs"], "_PAGE", 3)
    page = reader.open("/runs")
    first = page.locator("tbody tr").first.get_attribute("data-id")
    page.get_by_role("link", name="Older").click()
    expect(page.locator(f"tr[data-id='{first}']")).to_have_count(0)
    expect(page.locator("#runs-list tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Newer").click()
    expect(page.locator(f"tr[data-id='{first}']")).to_have_count(1)


def test_a_viewer_sees_no_acts_and_a_phone_shows_the_same(browser: Browser, address: str, stage: Stage) -> None:
    viewer = Reader(browser, address, stage.tokens["viewer"], viewport=PHONE)
    page = viewer.open("/runs")
    expect(page.locator(f"tr[data-id='{stage.failed}']")).to_be_visible()
    expect(page.get_by_role("link", name="Cancel…")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    viewer.check_access()
    viewer.close()


def test_a_page_asks_for_nothing_while_its_tab_is_hidden_and_at_once_when_it_is_seen(
    browser: Browser, address: str, stage: Stage
) -> None:
    one = Reader(browser, address, stage.tokens["viewer"])
    one.page.clock.install()
    page = _over_time(one, "/runs")
    hide = "hidden => { Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });"
    page.evaluate(f"{hide} document.dispatchEvent(new Event('visibilitychange')) }}", True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(30_000)
    assert asked == []
    with page.expect_response(lambda answer: answer.url.endswith("/runs")):
        page.evaluate(f"{hide} document.dispatchEvent(new Event('visibilitychange')) }}", False)
    one.close()
