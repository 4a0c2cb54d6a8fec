"""Whatever people call things and put into them is shown as it is, and never runs."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser

from orchestrator.config import Config
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.db import Database
from tests.hands import Hands
from tests.web.browser import Reader
from tests.web.stage import Stage
from web.app import create_app


def _is_text(text: str) -> bool:
    """Whether Postgres can hold it."""
    return bool(text.strip()) and "\0" not in text and text.encode(errors="ignore").decode() == text


_CASES = json.loads((Path(__file__).parents[1] / "data" / "naughty_strings.json").read_text())["cases"]
STRINGS = [text for text in _CASES if _is_text(text)]
NAMES = [text for text in dict.fromkeys(STRINGS) if text.isprintable() and len(text) <= 255 and text.strip() == text]


@pytest.fixture(scope="module")
def run_id(module_db: Database, stage: Stage) -> str:
    """A run whose workflow, steps, tags, input and errors are all of them."""
    steps = [{"name": name, "function": "shop.fails", "input": {"text": "{{ input.all }}"}} for name in NAMES]
    hands = Hands(module_db, {"shop.fails": _fails})
    register(hands.engine, {"name": "<img src=x onerror=alert(1)>", "steps": steps}, actor="test")
    options = StartOptions(tags=[name for name in NAMES if len(name) < 50][:100], actor="<script>alert(2)</script>")
    run = start(hands.engine, "<img src=x onerror=alert(1)>", {"all": STRINGS}, options).run_id
    hands.work()
    return run


def _fails(text: list[str]) -> None:
    raise ValueError("".join(text))


@pytest.fixture
def client(module_db: Database, stage: Stage) -> Iterator[FlaskClient]:
    url = module_db.engine.url.render_as_string(hide_password=False)
    app = create_app(Config(database_url=url, secret_key="k" * 32))
    client = app.test_client()
    assert client.post("/login", data={"token": stage.tokens["operator"]}).status_code == 303
    yield client
    app.extensions["orchestrator.database"].close()


def test_every_name_of_a_step_is_in_the_table_as_text(client: FlaskClient, run_id: str) -> None:
    pages, path = "", f"/runs/{run_id}/steps"
    for after in ("", "?after=99", "?after=199", "?after=299", "?after=399", "?after=499"):
        pages += client.get(path + after).text
    shown = html.unescape(pages)
    assert [name for name in NAMES if name not in shown] == []
    assert "<img src=x" not in pages


@pytest.mark.parametrize("path", ["/runs?{0}={1}", "/runs/search?q={1}", "/runs/over-time?{0}={1}", "/runs/{1}"])
def test_whatever_stands_in_an_address_gives_a_page(client: FlaskClient, run_id: str, path: str) -> None:
    keys = ("workflow", "tag", "error", "app", "since", "range", "status", "after", "before")
    for place, text in enumerate(STRINGS[::7]):
        quoted = "".join(f"%{byte:02X}" for byte in text.encode())
        answer = client.get(path.format(keys[place % len(keys)], quoted))
        assert answer.status_code < 500, (path, text)


def test_nothing_of_it_runs(browser: Browser, address: str, stage: Stage, run_id: str) -> None:
    reader = Reader(browser, address, stage.tokens["operator"])
    reader.page.on("dialog", lambda dialog: reader.complaints.append(f"dialog: {dialog.message}"))
    for path in ("/runs", f"/runs/{run_id}?step=3", f"/runs/{run_id}?tab=steps", f"/runs/{run_id}?tab=data"):
        page = reader.open(path)
        page.wait_for_load_state("networkidle")
        reader.never_scripted()
    reader.close()
