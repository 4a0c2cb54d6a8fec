"""The documentation as a site: it builds without a warning, obeys the content security policy, and is served."""

from __future__ import annotations

import fcntl
import os
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import build_backend
import web.docs
from build_backend import build_site
from orchestrator.config import Config
from tests.architecture.source import ROOT
from tests.web.browser import PHONE, Reader, served
from web.app import create_app

NOWHERE = Config(database_url="postgresql+psycopg2://nowhere/x")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once for all processes of a test run.

    The build fails for a dead link, a missing anchor, and a page that mkdocs.yml does not list.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "documentation"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "search").exists():  # what is written last
            build_site(folder)
    return folder


@pytest.fixture(scope="module")
def address(site: Path, orchestrator_module_database_url: str) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, served(orchestrator_module_database_url) as address:
        patch.setattr(web.docs, "SITE", site)
        yield address


def test_every_page_is_there_and_asks_for_nothing_from_elsewhere(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    sources = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    wanted = {path.with_suffix(".html").as_posix().replace("README", "index") for path in sources}
    assert pages == wanted | {"changelog.html"}
    for page in pages:
        text = (site / page).read_text()
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"([^\"]+)|<link[^>]* href=\"([^\"]+)", text)
        assert [one for pair in loaded for one in pair if re.match(r"\w+:|//", one)] == [], page
        assert not re.search(r"<script>|<style|<[a-z][^>]* (?:style|on\w+)=", text), page


def test_dead_links_missing_anchors_and_unlisted_pages_fail_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "docs" / "site", tmp_path / "docs" / "site")
    settings = (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[0]
    (tmp_path / "mkdocs.yml").write_text(f"{settings}\nnav: [index.md]\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n")
    (tmp_path / "docs" / "index.md").write_text("# Title\n\n[dead](no.md) and [missing](#no)\n")
    (tmp_path / "docs" / "unlisted.md").write_text("# Unlisted\n")
    monkeypatch.setattr(build_backend, "_ROOT", tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        build_site(tmp_path / "built")
    said = capfd.readouterr().err
    assert [word for word in ("'no.md'", "'#no'", "unlisted.md") if word not in said] == []


def test_diagrams_are_drawn_as_the_pages_have_them() -> None:
    folder = ROOT / "docs" / "site"
    made = runpy.run_path(str(folder / "diagrams.py"))["pictures"]()
    assert {path.name: path.read_text() for path in (folder / "drawn").glob("*.svg")} == made, "run `make docs`"


def test_a_reader_finds_words_and_reads_on_in_both_schemes(browser: Browser, address: str) -> None:
    reader = Reader(browser, address)
    page = reader.open("/docs")
    expect(page.locator("h1")).to_contain_text("Orchestrator")
    reader.check_access()
    page.keyboard.press("/")
    page.keyboard.type("jitter")
    page.locator(".md-search-result__item a").first.click()
    expect(page.locator("article mark").first).to_be_visible()
    for name in ("quickstart", "states"):
        reader.open(f"/docs/{name}.html")
        reader.check_access()
    expect(page.locator("svg.diagram").first).to_be_visible()
    reader.close()


def test_a_reader_at_a_phone_opens_the_navigation_and_nothing_is_wider_than_the_screen(
    browser: Browser, address: str
) -> None:
    reader = Reader(browser, address, viewport=PHONE)
    for name in ("index", "definition", "cli", "states"):
        page = reader.open(f"/docs/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
    page.locator("label.md-header__button[for=__drawer]").click()
    expect(page.locator(".md-nav--primary")).to_be_visible()
    reader.close()


def test_files_are_sent_with_the_policy_of_every_page_and_asked_for_anew(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web.docs, "SITE", site)
    client = create_app(NOWHERE).test_client()

    def get(path: str, **headers: str) -> Any:
        return client.get(path, headers=headers, buffered=True)

    answer = get("/docs/index.html")
    assert answer.headers["Content-Security-Policy"] == get("/healthz").headers["Content-Security-Policy"]
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-cache, max-age=0")
    assert get("/docs/index.html", **{"If-None-Match": answer.headers["ETag"]}).status_code == 304
    bundle = re.search(r'src="(assets/javascripts/bundle[^"]+)"', answer.text)
    assert bundle is not None
    assert "immutable" in get(f"/docs/{bundle[1]}").headers["Cache-Control"]
    for path in ("/docs", "/docs/"):
        assert get(path).headers["Location"] == "/docs/index.html"
    for path in ("/docs/no.html", "/docs/adr", "/docs/../app.py", "/docs/%2e%2e/app.py"):
        assert get(path).status_code == 404, path


def test_a_checkout_without_the_site_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web.docs, "SITE", tmp_path)
    answer = create_app(NOWHERE).test_client().get("/docs/index.html")
    assert answer.status_code == 404
    assert "make site" in answer.text
