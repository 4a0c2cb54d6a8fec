"""The page of a run in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.services.signal import signal
from orchestrator.store.db import Database
from tests.hands import audited
from tests.web.browser import PHONE, Reader
from tests.web.coded import sell
from tests.web.stage import MARKUP, ODD, ORDER, Stage


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str, stage: Stage) -> Iterator[Reader]:
    one = Reader(browser, address, stage.tokens["operator"])
    yield one
    one.close()


def _graph(reader: Reader, run_id: str) -> Page:
    page = reader.open(f"/runs/{run_id}")
    expect(page.locator("#graph")).to_have_attribute("data-ready", "")
    return page


def test_the_graph_shows_every_step_with_icon_and_word(reader: Reader, stage: Stage) -> None:
    page = _graph(reader, stage.failed)
    expect(page.locator(".node")).to_have_count(len(ORDER["steps"]))
    failed = page.locator(".node", has_text="charge")
    expect(failed).to_contain_text("failed")
    expect(failed.locator("use").first).to_have_attribute("href", "#i-failed")
    expect(page.locator(".node", has_text="many")).to_contain_text("4/4")
    expect(page.locator("#run-head")).to_contain_text(f"ValueError card was declined: {MARKUP}")
    reader.never_scripted()
    reader.check_access()


def test_keys_walk_through_the_graph_and_open_a_step(reader: Reader, stage: Stage) -> None:
    page = _graph(reader, stage.failed)
    page.locator(".graph-canvas").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    expect(page.locator("[data-graph-said]")).to_contain_text("charge, failed")
    page.keyboard.press("Enter")
    drawer = page.get_by_role("complementary", name="Step")
    expect(drawer.get_by_role("heading", name="charge")).to_be_visible()
    expect(drawer).to_contain_text("ValueError")
    drawer.locator("summary").click()
    expect(drawer.get_by_label("Traceback")).to_contain_text("raise ValueError")
    expect(drawer.locator("#step-logs")).to_contain_text("It has not logged")
    reader.check_access()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_the_graph_is_found_in_zoomed_and_moved(reader: Reader, stage: Stage) -> None:
    page = _graph(reader, stage.succeeded)
    world = page.locator("[data-world]")
    before = world.get_attribute("style")
    page.get_by_role("button", name="Larger").click()
    expect(world).not_to_have_attribute("style", before or "")
    page.locator("[data-graph-search]").fill("<b>bold")
    page.keyboard.press("Enter")
    expect(page.locator(".node.at title")).to_contain_text(ODD)
    page.locator(".node.at").click()
    drawer = page.get_by_role("complementary", name="Step")
    expect(drawer.get_by_role("heading", name=ODD)).to_be_visible()
    expect(drawer.get_by_label("Input of the step")).to_contain_text(MARKUP)
    reader.never_scripted()


def test_the_graph_lives(reader: Reader, stage: Stage) -> None:
    page = _graph(reader, stage.running)
    expect(page.locator(".node.s-running")).to_have_count(1)
    expect(page.locator("#run-head .status").first).to_have_text("running")


@pytest.mark.parametrize("tab", ["Timeline", "Steps", "Input & output", "Events"])
def test_every_view_of_a_run_can_be_read_by_all(reader: Reader, stage: Stage, tab: str) -> None:
    page = reader.open(f"/runs/{stage.failed}")
    page.get_by_role("link", name=tab).click()
    expect(page.locator("#run-tab .loading")).to_have_count(0)
    expect(page.locator("#run-tab .panel").first).to_be_visible()
    reader.never_scripted()
    reader.check_access()


def test_the_timeline_tells_of_attempts_and_what_is_between_them(reader: Reader, stage: Stage) -> None:
    page = reader.open(f"/runs/{stage.failed}?tab=timeline")
    row = page.locator("tr", has_text="charge").locator("svg[role=img]")
    expect(row).to_have_attribute("aria-label", re.compile("attempt 1: failed.*attempt 2: failed"))


def test_steps_are_filtered_and_open_from_the_keyboard(reader: Reader, stage: Stage) -> None:
    page = reader.open(f"/runs/{stage.failed}?tab=steps&status=upstream_failed")
    expect(page.locator("#run-tab tbody tr")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Step").get_by_role("heading", name=ODD)).to_be_visible()
    expect(page).to_have_url(re.compile("step=3"))


def test_secrets_are_masked_and_kept_in_a_rerun(reader: Reader, stage: Stage) -> None:
    page = reader.open(f"/runs/{stage.succeeded}?tab=data")
    expect(page.get_by_role("region", name="Input")).to_contain_text('"card": "***"')
    page.get_by_role("link", name="Rerun…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Input").fill('{"amount": 6, "card": "***"}')
    with page.expect_response(lambda answer: answer.status == 422):
        dialog.get_by_role("button", name="Start the new run").click()
    expect(dialog.locator("#f-input-error")).to_contain_text("Put the secret values")
    dialog.get_by_label("Input").fill('{"amount": "six"}')
    with page.expect_response(lambda answer: answer.status == 422):
        dialog.get_by_role("button", name="Start the new run").click()
    expect(dialog.locator("#f-input-error")).to_contain_text("amount")
    reader.check_access()
    dialog.get_by_label("Input").fill('{"amount": 6}')
    dialog.get_by_role("button", name="Start the new run").click()
    expect(page.locator(".flash")).to_contain_text("This is the new run")
    expect(page.locator("#run-head")).to_contain_text("rerun of")
    reader.complaints.clear()  # the browser tells of every 422


def test_a_child_leads_to_its_parent_and_back(reader: Reader, stage: Stage) -> None:
    page = _graph(reader, stage.parent)
    page.locator(".node .child").click()
    page.wait_for_url(f"**/runs/{stage.child}")
    page.get_by_role("navigation", name="Runs above").get_by_role("link", name="parent").click()
    page.wait_for_url(f"**/runs/{stage.parent}")


def test_a_waiting_step_says_why_and_is_approved_from_its_panel(
    reader: Reader, stage: Stage, module_db: Database
) -> None:
    page = reader.open(f"/runs/{stage.waiting}?step=1")
    drawer = page.get_by_role("complementary", name="Step")
    expect(drawer).to_contain_text(f"waits for a decision: Refund {MARKUP}?")
    drawer.get_by_role("link", name="Decide…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("limit").fill("abc")
    with page.expect_response(lambda answer: answer.status == 422):
        dialog.get_by_role("button", name="Approve").click()
    expect(dialog).to_contain_text("This must be a number")
    dialog.get_by_label("limit").fill("10")
    dialog.get_by_role("button", name="Approve").click()
    expect(page.locator(".flash")).to_contain_text("is approved.")
    page.wait_for_url(f"**/runs/{stage.waiting}?step=1")
    with module_db.transaction() as conn:
        assert audited(conn, "approve") == [("web:operator", stage.waiting, None)]
    reader.complaints.clear()  # the browser tells of every 422


def test_a_cancel_says_first_what_will_happen(reader: Reader, stage: Stage, module_db: Database) -> None:
    page = reader.open(f"/runs/{stage.running}")
    page.get_by_role("link", name="Cancel…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 step that runs gets the chance to finish")
    expect(dialog).to_contain_text("5 steps will not start.")
    dialog.get_by_label("Reason").fill("stop it")
    dialog.get_by_role("button", name="Cancel the run").click()
    expect(page.locator(".flash")).to_contain_text("The run is being canceled.")
    expect(page.locator("#run-head")).to_contain_text("Canceled: stop it")
    with module_db.transaction() as conn:
        assert ("web:operator", stage.running, "stop it") in audited(conn, "cancel")


def test_pause_reason_hold_and_release(reader: Reader, stage: Stage) -> None:
    page = reader.open(f"/runs/{stage.paused}?step=4")
    expect(page.locator("#run-head")).to_contain_text(f"Paused: lunch {MARKUP}")
    drawer = page.get_by_role("complementary", name="Step")
    expect(drawer).to_contain_text("look at it first")
    drawer.get_by_role("link", name="Release…").click()
    page.get_by_role("dialog").get_by_role("button", name="Release").click()
    expect(page.locator(".flash")).to_contain_text("The step is released.")


def test_a_failed_step_is_marked_and_the_run_goes_on(reader: Reader, stage: Stage) -> None:
    page = reader.open(f"/runs/{stage.failed}?step=1")
    page.get_by_role("complementary", name="Step").get_by_role("link", name="Mark…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Output (JSON)").fill('{"id": "by hand"}')
    dialog.get_by_role("button", name="Mark").click()
    expect(page.locator(".flash")).to_contain_text("The step is marked succeeded")
    expect(page.locator("#run-head .status").first).to_have_text("running")


def test_two_runs_are_compared_step_by_step(reader: Reader, stage: Stage) -> None:
    page = reader.open(f"/runs/{stage.succeeded}/compare?other={stage.canceled[-10:]}")
    expect(page.locator("tr", has_text="charge")).to_contain_text("canceled")
    changed = page.get_by_role("region", name="Input of both runs")
    expect(changed.locator("del", has_text="amount: 5")).to_be_visible()
    expect(changed.locator("ins", has_text="amount: 9")).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("4111")
    reader.check_access()
    page.locator("tr", has_text="reserve").get_by_role("link", name="How…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("region", name="Output").locator("ins").first).to_contain_text("null")
    reader.check_access()
    page.goto(f"/runs/{stage.succeeded}/compare?other=nothing")
    expect(page.get_by_text("is not a run's id")).to_be_visible()


def test_a_viewer_reads_on_a_phone_and_does_nothing(browser: Browser, address: str, stage: Stage) -> None:
    viewer = Reader(browser, address, stage.tokens["viewer"], viewport=PHONE, has_touch=True)
    page = _graph(viewer, stage.succeeded)
    expect(page.get_by_role("link", name="Rerun…")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    refused = page.request.get(f"/runs/{stage.succeeded}/act/rerun")
    assert refused.status == 403
    viewer.check_access()
    viewer.close()


def test_a_run_of_a_function_draws_what_it_has_done_and_grows(reader: Reader, stage: Stage) -> None:
    run_id = sell(stage.hands, 5)
    page = _graph(reader, run_id)
    names = ["charge", "label 0", "label 1", "note", "approved"]
    expect(page.locator(".node .name")).to_have_text(names)
    expect(page.locator(".line.success")).to_have_count(1)
    expect(page.locator("#run-head")).to_contain_text("tests.web.coded:sale, version 3")
    expect(page.locator(".who")).to_contain_text(f"Orchestrator {metadata.version('orchestrator')}")
    page.locator(".node", has_text="charge").click()
    drawer = page.get_by_role("complementary", name="Step")
    expect(drawer).to_contain_text("The function did this itself")
    expect(drawer.get_by_label("Output of the step")).to_contain_text('"id": 5')
    expect(drawer.get_by_role("link", name="Mark")).to_have_count(0)
    reader.check_access()
    signal(stage.hands.engine, run_id, "approved", True)
    stage.hands.work()
    expect(page.locator("#run-head")).to_contain_text("succeeded")
    for tab, told in (("steps", "in the function"), ("timeline", "approved")):
        page = reader.open(f"/runs/{run_id}?tab={tab}")
        expect(page.locator("#run-tab tbody tr")).to_have_count(6)
        expect(page.locator("#run-tab")).to_contain_text(told)
        reader.check_access()
    tried = _graph(reader, sell(stage.hands, 500))
    expect(tried.locator(".node", has_text="mail")).to_contain_text("ready")
    expect(tried.locator(".node .name")).to_have_text(["charge", "label 0", "label 1", "mail"])
