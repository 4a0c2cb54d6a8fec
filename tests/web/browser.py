"""A real browser on the application; what it complains of fails the test."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from werkzeug.serving import WSGIRequestHandler, make_server

from orchestrator.config import Config
from tests.support import program
from web.app import create_app

_AXE = (Path(__file__).parents[1] / "data" / "axe" / "axe-4.14.1.min.js").read_text()
_SERIOUS = ("serious", "critical")
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
_PATIENCE = 30_000  # milliseconds; parts of pages are asked for anew every few seconds, and a busy machine is slow
SECRET_KEY = "k" * 32
expect.set_options(timeout=_PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's: the one without windows where it is installed, which takes a quarter less of a machine."""
    path = which("chromium-headless-shell") or program("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class _Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return


@contextmanager
def served(database_url: str) -> Iterator[str]:
    """The application on a port of its own; its address."""
    app = create_app(Config(database_url=database_url, secret_key=SECRET_KEY))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(10)
    server.server_close()
    app.extensions["orchestrator.database"].close()


class Reader:
    """Somebody at a browser. `complaints`: what its console said, refusals by the content security policy included."""

    def __init__(self, browser: Browser, address: str, token: str | None = None, **options: Any) -> None:
        self.address = address
        self.complaints: list[str] = []
        self.context: BrowserContext = browser.new_context(**{"viewport": WIDE, "base_url": address, **options})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(_PATIENCE)
        self._looks_at_whole_pages()
        self.page.on("console", lambda said: self._note(said.type, said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        if token is not None:
            self.sign_in(token)

    def _looks_at_whole_pages(self) -> None:
        """Nothing is clicked nor compared on a page whose scripts are still to come, as after a click on a link."""
        loaded = "document.documentElement.dataset.loaded = ''"
        self.context.add_init_script(f"addEventListener('load', () => {{ {loaded} }})")
        self.page.add_locator_handler(self.page.locator("html:not([data-loaded])"), lambda: None)

    def sign_in(self, token: str) -> None:
        self.page.goto(f"/login#token={token}")
        self.page.wait_for_url(self.address + "/")

    def open(self, path: str) -> Page:
        self.page.goto(path)
        return self.page

    def look_again(self, part: str) -> None:
        """A live part is asked for anew, and is there."""
        there = "document.addEventListener('htmx:afterSettle', ({ target }) => { if (target.matches(part)) done(); })"
        self.page.evaluate(f"part => new Promise((done) => {{ {there}; htmx.trigger(part, 'live'); }})", part)

    def close(self) -> None:
        """Ends the visit; a complaint is a failure."""
        self.context.close()
        assert self.complaints == []

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(f"{kind}: {text}")

    def check_access(self) -> None:
        """axe-core finds nothing serious on the page: all its rules in light, those about contrast in dark too."""
        # evaluate() goes around the page's content security policy, which would not let another script in.
        self.page.evaluate(_AXE + "; 0")
        for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found = self._violations(rules)
            assert found == [], f"{self.page.url} in {scheme}: {json.dumps(found, indent=1)}"

    def _violations(self, rules: dict[str, Any]) -> list[Any]:
        result = self.page.evaluate("given => axe.run(document, given)", {"resultTypes": ["violations"], **rules})
        return [
            {"rule": one["id"], "help": one["help"], "nodes": [part["html"][:200] for part in one["nodes"][:3]]}
            for one in result["violations"]
            if one["impact"] in _SERIOUS
        ]

    def never_scripted(self) -> None:
        """No markup in data has become an element of the page."""
        expect(self.page.locator("img, main script")).to_have_count(0)
