"""Workflows in a real browser: the list, one of them, starting it by its form, and writing one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from orchestrator.domain.roles import Role
from orchestrator.services.apps import set_app
from orchestrator.services.register import register
from orchestrator.services.tokens import create_token
from orchestrator.store.db import Database
from orchestrator.store.reads import get_run, get_workflow
from tests.web.browser import PHONE, Reader
from tests.web.coded import sell
from tests.web.stage import MARKUP, NOTE, ODD, ORDER, Stage

TRIP: dict[str, Any] = {
    "name": "trip",
    "label": "Trip",
    "description": "Far away",
    "tags": ["travel"],
    "input_schema": {
        "type": "object",
        "required": ["days", "to"],
        "additionalProperties": False,
        "properties": {
            "days": {"type": "integer", "minimum": 2, "title": "Days", "description": MARKUP},
            "fast": {"type": "boolean", "default": True},
            "class": {"enum": ["first", "second"]},
            "stops": {"type": "array", "items": {"type": "string"}},
            "to": {"type": "object", "required": ["city"], "properties": {"city": {"type": "string", "title": "City"}}},
            "card": {"type": "string", "writeOnly": True, "title": "Card"},
        },
    },
    "steps": [{"name": "book", "function": "shop.reserve", "input": {"days": "{{ input.days }}"}}],
}


@pytest.fixture(scope="module")
def reader(browser: Browser, address: str, stage: Stage) -> Iterator[Reader]:
    register(stage.hands.engine, TRIP, actor="test")
    register(stage.hands.engine, TRIP | {"description": "Further away"}, actor="test")
    one = Reader(browser, address, stage.tokens["author"])
    yield one
    one.close()


def test_the_list_says_how_the_last_runs_went(reader: Reader, stage: Stage) -> None:
    page = reader.open("/workflows")
    row = page.locator("tbody tr", has_text=ORDER["name"])
    expect(row).to_contain_text("33 %")
    expect(row.get_by_role("img")).to_have_accessible_name("Last 4 runs: 1 canceled, 1 failed, 1 running, 1 succeeded")
    reader.check_access()
    page.keyboard.press("/")
    page.keyboard.type("travel")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("trip")


def test_a_workflow_shows_its_graph_its_runs_and_what_changed(reader: Reader, stage: Stage) -> None:
    page = reader.open("/workflows")
    page.get_by_role("link", name=ORDER["name"], exact=True).click()
    graph = page.get_by_role("region", name="Graph of")
    expect(graph.locator("svg")).to_be_visible()
    wide = graph.locator("svg").evaluate("svg => svg.clientWidth")
    page.get_by_role("button", name="Larger").click()
    assert graph.locator("svg").evaluate("svg => svg.clientWidth") > wide
    graph.press("-")
    assert graph.locator("svg").evaluate("svg => svg.clientWidth") == pytest.approx(wide, abs=2)
    graph.press("0")
    assert graph.evaluate("box => box.scrollWidth <= box.clientWidth")
    expect(graph.locator("g")).to_have_count(6)
    expect(graph.locator("title", has_text=ODD)).to_have_count(1)
    expect(page.locator("tr", has_text="card was declined")).to_contain_text(MARKUP)
    reader.never_scripted()
    reader.check_access()
    page.goto("/workflow?name=trip")
    page.get_by_role("link", name="Definition & revisions").click()
    page.get_by_role("link", name="Compare revision 1 with revision 2").click()
    expect(page.get_by_role("region", name="Difference").locator("ins")).to_have_text("+description: Further away")
    reader.check_access()


def test_the_start_form_tells_what_is_wrong_beside_the_fields_and_keeps_the_rest(reader: Reader, stage: Stage) -> None:
    page = reader.open("/workflow/start?name=trip")
    page.get_by_label("Days").fill("1")
    page.get_by_label("stops").fill("Ulm\nBonn")
    page.get_by_label("Card").fill("4111-1111")
    page.get_by_label("Tags").fill("eu, vip")
    reader.check_access()
    with page.expect_response(lambda answer: answer.status == 422):
        page.get_by_role("button", name="Start the run").click()
    expect(page.locator("[id='f-v.0-error']")).to_have_text("Must be at least 2")
    expect(page.locator("[id='f-v.4.0-error']")).to_have_text("Is required")
    expect(page.get_by_label("stops")).to_have_value("Ulm\nBonn")
    expect(page.get_by_label("Card")).to_have_value("")
    reader.check_access()
    page.get_by_label("Days").fill("3")
    page.get_by_label("City").fill("Köln <b>")
    page.get_by_label("Card").fill("4111-1111")
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/runs/*")
    with stage.hands.db.transaction() as conn:
        run = get_run(conn, page.url.rsplit("/", 1)[1])
    assert run["input"] == {
        "days": 3,
        "fast": True,
        "stops": ["Ulm", "Bonn"],
        "to": {"city": "Köln <b>"},
        "card": "***",
    }
    assert run["tags"] == ["travel", "eu", "vip"]
    reader.complaints.clear()  # the browser tells of every 422


def test_json_takes_the_place_of_the_fields(reader: Reader, stage: Stage) -> None:
    page = reader.open("/workflow/start?name=trip")
    page.get_by_text("Input as JSON").click()
    page.get_by_label("Input (JSON)").fill('{"days": 9, "to": {"city": "Rom"}, "odd": 1}')
    with page.expect_response(lambda answer: answer.status == 422):
        page.get_by_role("button", name="Start the run").click()
    expect(page.locator("#f-json-error")).to_contain_text("input.odd: is not known here")
    page.get_by_label("Input (JSON)").fill('{"days": 9, "to": {"city": "Rom"}}')
    page.get_by_label("Idempotency key").fill("rome")
    page.get_by_role("button", name="Start the run").click()
    page.wait_for_url("**/runs/*")
    reader.complaints.clear()


def test_the_editor_checks_while_one_types_and_registers(reader: Reader, stage: Stage) -> None:
    page = reader.open("/workflow/edit?name=trip")
    text = page.get_by_label("Definition, YAML or JSON")
    check = page.get_by_role("status", name="Problems")
    expect(check).to_contain_text("valid")
    good = text.input_value()
    text.fill(good + "- name: pay\n  function: shop.charge\n  depends_on: [bok]\n")
    expect(check).to_contain_text("did you mean 'book'")
    line = good.count("\n") + 3
    expect(check.get_by_role("button", name=f"line {line}")).to_be_visible()
    expect(page.locator(".gutter .wrong")).to_have_text(str(line))
    reader.check_access()
    text.fill(good + "- name: pay\n  function: shop.charge\n  depends_on: [book]\n")
    expect(check).to_contain_text("valid")
    expect(check.locator("g")).to_have_count(2)
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_text("Revision 3 is registered")).to_be_visible()
    with stage.hands.db.transaction() as conn:
        assert get_workflow(conn, "trip", app="default")["document"]["steps"][1]["name"] == "pay"


def test_a_new_one_is_written_and_unregistered_again(reader: Reader, stage: Stage) -> None:
    page = reader.open("/workflow/edit")
    page.get_by_label("Definition, YAML or JSON").fill('{"name": "a/b #1", "steps": [{"name": "x", "pass": true}]}')
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("a/b #1")
    page.get_by_role("link", name="Unregister…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Its runs stay")
    reader.check_access()
    dialog.get_by_role("button", name="Unregister").click()
    expect(page.get_by_text("'a/b #1' is unregistered")).to_be_visible()


def test_what_waits_for_an_active_run_is_not_unregistered_without_force(reader: Reader, stage: Stage) -> None:
    page = reader.open("/workflow?name=asks")
    page.get_by_role("link", name="Unregister…").click()
    with page.expect_response(lambda answer: answer.status == 422):
        page.get_by_role("dialog").get_by_role("button", name="Unregister").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("2 active runs")
    reader.complaints.clear()


def test_a_viewer_looks_and_an_app_sees_its_own_and_its_groups(
    browser: Browser, address: str, stage: Stage, module_db: Database
) -> None:
    set_app(module_db, "shop", group="retail", actor="test")
    register(stage.hands.engine, NOTE | {"name": "shared"}, group="retail", actor="test")
    token = create_token(module_db, "of shop", Role.AUTHOR, app="shop").token
    reader = Reader(browser, address, token, viewport=PHONE)
    page = reader.open("/workflows")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.get_by_role("link", name="shared", exact=True).click()
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)  # it is the group's
    expect(page.get_by_role("link", name="Start…").first).to_be_visible()
    reader.check_access()
    page.goto("/workflow/edit")
    expect(page.get_by_role("button", name="Register")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    reader.check_access()
    reader.close()


def test_a_workflow_that_is_a_function_says_where_and_is_started_by_its_form(reader: Reader, stage: Stage) -> None:
    sell(stage.hands, 5)
    page = reader.open("/workflow?name=sale&app=default")
    code = page.get_by_role("region", name="Code")
    expect(code).to_contain_text("It is the Python function tests.web.coded:sale, version 3.")
    expect(page.get_by_role("region", name="Graph")).to_have_count(0)
    expect(page.get_by_role("link", name="Edit", exact=True)).to_have_count(0)
    reader.check_access()
    page.get_by_role("link", name="Definition & revisions").click()
    expect(page.locator("main")).to_contain_text("code: tests.web.coded:sale")
    page.get_by_role("link", name="Start…").click()
    page.get_by_label("Amount").fill("7")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("sale")
    refused = page.request.get("/workflow/edit?name=sale&app=default")
    assert refused.status == 404
    assert "is written in Python" in refused.text()
