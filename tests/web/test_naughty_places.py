"""Whatever is put into the addresses and forms of the other pages is refused, or shown as it is."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from orchestrator.config import Config
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.store.db import Database
from tests.hands import Hands
from tests.web.conftest import signed_in
from tests.web.test_naughty import NAMES, STRINGS
from web.app import create_app

SOME = [*STRINGS[::50], "\0", "a\0b", "\ud800", "9" * 400]
ADDRESSES = (
    "/workflows?q={}",
    "/workflows?app={}",
    "/workflows?after={}",
    "/workflow?name={}",
    "/workflow?name=x&app={}",
    "/workflow?name=x&group={}",
    "/workflow/revisions?name=x&revision={}&from={}&after={}",
    "/workflow/graph?name=x&revision={}",
    "/workflow/start?name={}",
    "/workflow/edit?name={}",
    "/workflow/unregister?name={}",
    "/approvals?after={}",
    "/approvals/decide?run={}&step={}&item={}",
    "/pools/pool?name={}",
    "/pools/set?name={}",
    "/workers/functions?q={}",
    "/audit?actor={}&action={}&target={}",
    "/audit?since={}&until={}&bulk={}&after={}",
    "/tokens?after={}",
    "/tokens/revoke?name={}",
    "/home/over-time?range={}",
    "/schedules?q={}&app={}&workflow={}&standing={}&after={}",
    "/alerts?app={}&severity={}&after={}",
    "/alerts/rule?id={}&after={}",
    "/alerts/edit?id={}&workflow={}",
    "/alerts/act?id={}&verb={}",
    "/schedules/schedule?id={}&after={}",
    "/schedules/edit?id={}&workflow={}",
    "/schedules/act?id={}&verb={}",
    "/schedules/backfill?id={}",
    "/runs?schedule={}",
)


@pytest.fixture(scope="module")
def client(module_db: Database) -> Iterator[FlaskClient]:
    url = module_db.engine.url.render_as_string(hide_password=False)
    app = create_app(Config(database_url=url, secret_key="k" * 32))
    hands = Hands(module_db, {"f": _fails})
    register(hands.engine, {"name": "x", "steps": [{"name": "a", "pass": True}]}, actor="test")
    for name in NAMES[::40]:
        told = {"label": name, "description": name, "tags": [name]}
        document = {"name": name, **told, "steps": [{"name": name, "function": "f"}]}
        register(hands.engine, document, actor="test")
        start(hands.engine, name)
    hands.work()
    yield signed_in(app.test_client(), module_db)
    app.extensions["orchestrator.database"].close()


def _fails() -> None:
    raise ValueError("<img src=x onerror=alert(1)>")


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode(errors="surrogatepass"))


@pytest.mark.parametrize("address", ADDRESSES)
def test_whatever_stands_in_an_address_gives_a_page(client: FlaskClient, address: str) -> None:
    for text in SOME:
        answer = client.get(address.replace("{}", _quoted(text)))
        assert answer.status_code < 500, (address, text)


def test_whatever_is_typed_into_a_form_is_refused_or_taken(client: FlaskClient) -> None:
    token = html.unescape(client.get("/pools/set").text).split('name="csrf_token" value="')[1].split('"')[0]
    forms = {
        "/workflow/check": ("text",),
        "/workflow/edit": ("text", "app"),
        "/workflow/start?name=x": ("json", "tags", "key", "app"),
        "/pools/set": ("name", "description", "reason"),
        "/tokens/create": ("name", "password", "expires", "role", "app"),
    }
    for address, fields in forms.items():
        for text in (*SOME[::4], "a\0b"):
            for field in fields:
                given = {"csrf_token": token, "slots": "1", "name": "n", "role": "viewer"} | {field: text}
                answer = client.post(address, data={k: v.encode(errors="surrogatepass") for k, v in given.items()})
                assert answer.status_code < 500, (address, field, text)


def test_names_are_shown_as_they_are(client: FlaskClient) -> None:
    pages, after = "", ""
    while True:
        page = client.get(f"/workflows?after={after}").text
        pages += page
        if 'rel="next"' not in page:
            break
        after = html.unescape(page.split('rel="next" href="')[1].split('"')[0]).split("after=")[1]
    shown = html.unescape(pages)
    assert [name for name in NAMES[::40] if name not in shown] == []
    for name in NAMES[::40]:
        page = client.get("/workflow", query_string={"name": name}).text
        assert name in html.unescape(page)
        assert "<img" not in page
    assert "<img" not in client.get("/").text
    assert json.dumps("<img src=x onerror=alert(1)>") not in client.get("/").text
