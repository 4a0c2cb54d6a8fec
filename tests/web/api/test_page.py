"""The OpenAPI document as a page, in a real browser."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from orchestrator.config import Config
from tests.web.browser import Reader
from tests.web.stage import Stage
from web.app import create_app

PAGE = "/api/v1/docs"


def test_the_page_shows_every_route_and_tries_one_under_the_strict_policy(
    browser: Browser, address: str, stage: Stage
) -> None:
    reader = Reader(browser, address)
    page = reader.open(PAGE)
    expect(page.locator(".opblock").first).to_be_visible()
    page.get_by_text("List workflows by name").click()
    page.locator(".auth-wrapper .authorize").click()
    page.locator(".auth-container input").fill(stage.tokens["viewer"])
    page.locator(".auth-btn-wrapper .authorize").click()
    page.locator(".btn-done").click()
    page.locator(".opblock.is-open .try-out__btn").click()
    page.locator(".opblock.is-open .execute").click()
    expect(page.locator(".live-responses-table td.response-col_status").nth(1)).to_contain_text("200")
    reader.close()


def test_the_document_and_the_page_are_kept_by_browsers_as_long_as_they_hold() -> None:
    client = create_app(Config(database_url="postgresql+psycopg2://nowhere/x")).test_client()
    document = client.get("/api/v1/openapi.json")
    assert client.get("/api/v1/openapi.json", headers={"If-None-Match": document.headers["ETag"]}).status_code == 304
    part = client.get(f"{PAGE}/swagger-ui.css")
    assert "immutable" in part.headers["Cache-Control"]
    part.close()
    assert client.get(f"{PAGE}/index.css").status_code == 404
