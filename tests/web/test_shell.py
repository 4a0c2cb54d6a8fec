"""The frame of every page in a real browser: signing in, keys, theme."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Browser, expect

from tests.web.browser import PHONE, Reader
from tests.web.stage import Stage


@pytest.fixture
def reader(browser: Browser, address: str, stage: Stage) -> Iterator[Reader]:
    one = Reader(browser, address)
    yield one
    one.close()


def test_a_link_with_a_token_signs_in_and_the_token_leaves_the_address(reader: Reader, stage: Stage) -> None:
    reader.sign_in(stage.tokens["admin"])
    expect(reader.page.get_by_role("heading", name="Home")).to_be_visible()
    assert "orc_" not in reader.page.url
    reader.check_access()


def test_login_says_beside_the_field_what_is_missing(reader: Reader) -> None:
    page = reader.open("/")
    page.get_by_text("Sign in with name and password").click()
    page.get_by_label("Name").fill("admin")
    with page.expect_response(lambda answer: answer.status == 422):
        page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#f-password-error")).to_have_text("Give the password too.")
    reader.check_access()
    page.get_by_label("Password", exact=True).fill("correct horse")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    reader.complaints.clear()  # the browser tells of every 422


def test_keys_go_to_places_and_tell_themselves(reader: Reader, stage: Stage) -> None:
    reader.sign_in(stage.tokens["viewer"])
    page = reader.page
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next and previous row")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.clock.install()
    page.goto("/nowhere")
    page.clock.pause_at(datetime.now() + timedelta(hours=1))  # the two keys count as pressed in quick succession
    page.keyboard.press("g")
    page.keyboard.press("h")
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    reader.complaints.clear()  # the browser tells of the 404
    expect(page.get_by_role("link", name="Tokens")).to_have_count(0)


def test_the_theme_chosen_stays(reader: Reader, stage: Stage) -> None:
    reader.sign_in(stage.tokens["viewer"])
    root = reader.page.locator("html")
    expect(root).not_to_have_attribute("data-theme", "dark")
    for _ in range(2):
        reader.page.keyboard.press("t")
    expect(root).to_have_attribute("data-theme", "dark")
    reader.page.reload()
    expect(root).to_have_attribute("data-theme", "dark")


def test_on_a_phone_the_places_are_behind_a_button(browser: Browser, address: str, stage: Stage) -> None:
    reader = Reader(browser, address, stage.tokens["viewer"], viewport=PHONE)
    menu = reader.page.get_by_role("navigation", name="Places")
    expect(menu).to_be_hidden()
    reader.page.get_by_role("button", name="Menu").click()
    expect(menu).to_be_visible()
    reader.check_access()
    reader.close()
