"""What happens to somebody in the middle of an act when the session ends or the server goes away."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from orchestrator.services.register import register
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters, list_audit, list_runs
from tests.web.browser import PHONE, Reader
from tests.web.stage import Stage

SESSION = "orchestrator_session"


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str, stage: Stage) -> Iterator[Reader]:
    one = Reader(browser, address, stage.tokens["admin"])
    yield one
    one.complaints.clear()  # the browser tells of each answer that is an error, and of each that does not come
    one.close()


def test_an_act_after_the_session_has_ended_keeps_what_was_typed_and_is_done_after_signing_in_elsewhere(
    reader: Reader, stage: Stage
) -> None:
    page = reader.open(f"/runs/{stage.running}")
    page.get_by_role("link", name="Pause…").click()
    page.get_by_label("Reason").fill("typed before")
    reader.context.clear_cookies(name=SESSION)
    page.get_by_role("button", name="Pause").click()
    fault = page.get_by_role("dialog").get_by_role("alert")
    expect(fault).to_contain_text("Your session has ended, and nothing was done")
    expect(page.get_by_text("what is here is as it was then")).to_be_visible()  # what the live head was told
    reader.check_access()
    with reader.context.expect_page() as opened:
        fault.get_by_role("link", name="Sign in").click()
    other = opened.value
    other.get_by_label("Token").fill(stage.tokens["admin"])
    other.get_by_role("button", name="Sign in").click()
    expect(other.get_by_role("heading", name="Home")).to_be_visible()
    other.close()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The run is paused.")).to_be_visible()
    with stage.hands.db.transaction() as conn:
        assert list_audit(conn, stage.running).items[0]["reason"] == "typed before"


def test_an_act_whose_answer_does_not_come_is_said_to_be_in_doubt(reader: Reader, stage: Stage) -> None:
    page = reader.open(f"/runs/{stage.failed}")
    page.get_by_role("link", name="Retry…").click()
    page.get_by_label("Reason").fill("still here")
    reader.context.set_offline(True)
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("alert").last).to_contain_text("Whether it was done is not known")
    expect(page.get_by_label("Reason")).to_have_value("still here")
    reader.context.set_offline(False)


def test_a_bulk_goes_on_when_the_server_is_back_and_does_nothing_twice(
    reader: Reader, stage: Stage, module_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("web.pages.bulk"), "_PORTION", 1)
    lost: list[str] = []
    away = True

    def lose(route: object, request: object) -> None:
        if len(lost) == 1:  # the second portion is done, and nobody hears of it
            route.fetch()  # type: ignore[attr-defined]
        if lost and away:
            route.abort()  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]
        lost.append(str(request))

    page = reader.open("/runs?status=succeeded&roots=1")
    page.route(
        "**/runs/bulk?*", lambda route, request: lose(route, request) if request.method == "POST" else route.continue_()
    )
    page.get_by_role("link", name="Rerun…").click()
    page.get_by_role("button", name="Rerun 2 runs").click()
    expect(page.get_by_role("alert")).to_contain_text("Trying again")  # for three seconds, and then once more
    away = False
    expect(page.get_by_role("dialog").get_by_text("2 done")).to_be_visible()
    page.unroute("**/runs/bulk?*")
    with module_db.transaction() as conn:
        made = [run["rerun_of"] for run in list_runs(conn, RunFilters()).items if run["rerun_of"]]
    assert sorted(made) == sorted({stage.succeeded, stage.parent})


def test_a_live_page_says_that_it_is_old_and_is_new_again_after_signing_in(reader: Reader, stage: Stage) -> None:
    page = reader.open("/runs")
    reader.context.clear_cookies(name=SESSION)
    said = page.get_by_text("Your session has ended")
    expect(said).to_be_visible()
    expect(page.locator("#runs-list tbody tr").first).to_be_visible()
    said.get_by_role("link", name="Sign in").click()
    page.get_by_label("Token").fill(stage.tokens["admin"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()


def test_a_start_form_sent_without_a_session_is_sent_again_from_the_page_that_says_so(
    reader: Reader, stage: Stage
) -> None:
    page = reader.open("/workflow/start?name=note")
    page.get_by_label("Input (JSON)").fill('{"to": "<b>"}')
    reader.context.clear_cookies(name=SESSION)
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", name="Your session has ended")).to_be_visible()
    reader.check_access()
    with reader.context.expect_page() as opened:
        page.get_by_role("link", name="Sign in").click()
    opened.value.get_by_label("Token").fill(stage.tokens["admin"])
    opened.value.get_by_role("button", name="Sign in").click()
    expect(opened.value.get_by_role("heading", name="Home")).to_be_visible()
    opened.value.close()
    page.get_by_role("button", name="Send it again").click()
    expect(page.get_by_text("This is the new run.")).to_be_visible()


def test_long_words_do_not_widen_a_form_on_a_phone(
    browser: Browser, address: str, reader: Reader, stage: Stage
) -> None:
    long = "long" * 40
    properties = {long: {"enum": [long, "b"]}, f"{long}s": {"type": "array", "items": {"enum": [long]}}}
    schema = {"type": "object", "properties": properties}
    register(stage.hands.engine, {"name": "long", "input_schema": schema, "steps": [{"name": "a", "pass": True}]})
    one = Reader(browser, address, stage.tokens["operator"], viewport=PHONE)
    page = one.open("/workflow/start?name=long")
    expect(page.get_by_label(long).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    one.close()
