"""Webhooks: signed calls start runs and send events, each once."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from orchestrator.domain.roles import Role
from orchestrator.domain.signatures import sign, sign_github
from orchestrator.errors import Unreachable
from orchestrator.ids import new_id
from orchestrator.services.register import register
from orchestrator.services.seal import PASSING, Seal
from tests.documents import document, step
from tests.hands import audited
from tests.web.api.conftest import Api
from tests.web.api.operating import begin
from web.errors import TooManyRequests

SHOP = (Role.AUTHOR, "Shop")


@pytest.fixture(scope="module", autouse=True)
def registered(api: Api) -> None:
    for app in ("default", "Shop"):
        register(api.hands.engine, document(step("a"), name="called"), app=app)
        register(api.hands.engine, document({"name": "a", "wait_for": {"event": "paid"}}, name="waits"), app=app)


class Hook:
    """A hook, and how it is called."""

    def __init__(self, api: Api, **body: Any) -> None:
        who = body.pop("who", Role.AUTHOR)
        made = api.post("/hooks", {"name": str(uuid4()), "workflow": "called", **body}, who)
        assert made.status_code == 201, made.text
        self.api, self.made = api, made.get_json()
        self.id, self.secret = self.made["id"], self.made["secret"]

    def call(self, body: Any = b"{}", *, at: float | None = None, query: str = "", **given: Any) -> Any:
        """Call it, signed with its secret at this time."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent_at = int(time.time() if at is None else at)
        headers = {
            "X-Orchestrator-Timestamp": str(sent_at),
            "X-Orchestrator-Signature": sign(self.secret, sent_at, body),
            **given.pop("headers", {}),
        }
        given = {"content_type": "application/json"} | given
        return self.api.call("POST", f"/hooks/{self.id}{query}", None, data=body, headers=headers, **given)

    def call_as_github(self, body: Any, delivery: str, **headers: str) -> Any:
        sent = json.dumps(body).encode()
        signed = {"X-Hub-Signature-256": sign_github(self.secret, sent), "X-GitHub-Delivery": delivery}
        return self.api.call(
            "POST", f"/hooks/{self.id}", None, data=sent, content_type="application/json", headers=signed | headers
        )


def input_of(api: Api, run_id: str) -> Any:
    with api.db.transaction() as conn:
        return conn.execute(text("SELECT input FROM workflow_runs WHERE id = :id"), {"id": run_id}).scalar_one()


def test_a_signed_call_starts_a_run_with_what_the_template_makes_of_it(api: Api) -> None:
    hook = Hook(api, input={"order": "{{ body.order.id }}", "kind": "{{ headers['x-kind'] }}", "q": "{{ query.q }}"})
    answer = hook.call({"order": {"id": 7}}, query="?q=1", headers={"X-Kind": "new"})
    assert answer.status_code == 202
    run_id = answer.get_json()["run_id"]
    assert answer.get_json() == {"run_id": run_id, "created": True}
    assert input_of(api, run_id) == {"order": 7, "kind": "new", "q": "1"}
    assert api.get(f"/hooks/{hook.id}")["last_called_at"] is not None
    with api.db.transaction() as conn:
        acts = audited(conn, "call_hook")
    assert (acts[-1][0], acts[-1][1]) == (f"hook:{hook.made['name']}", hook.made["name"])


@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        (b'{"a": 1}', "application/json", {"a": 1}),
        (b"a=1&b=x+y", "application/x-www-form-urlencoded", {"a": "1", "b": "x y"}),
    ],
)
def test_without_a_template_the_input_is_the_body(api: Api, body: bytes, kind: str, expected: Any) -> None:
    answer = Hook(api).call(body, content_type=kind)
    assert input_of(api, answer.get_json()["run_id"]) == expected


def test_a_call_that_is_not_signed_as_it_must_be_is_told_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    hook, now = Hook(api), int(time.time())
    monkeypatch.setattr("orchestrator.services.call_hook.time", SimpleNamespace(time=lambda: float(now)))
    wrong = [
        {"X-Orchestrator-Signature": "sha256=" + "0" * 64},
        {"X-Orchestrator-Signature": "x\u00e9"},
        {"X-Orchestrator-Timestamp": "x"},
        {"X-Orchestrator-Timestamp": str(now + 1)},
        {"X-Orchestrator-Timestamp": ""},
        {"X-Orchestrator-Signature": sign("another secret", now, b"{}")},
    ]
    answers = [hook.call(at=now, headers=headers) for headers in wrong]
    answers += [hook.call(at=now + seconds) for seconds in (-301, 301)]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.get_json()["detail"] for answer in answers}) == 1
    assert [hook.call(at=now + seconds).status_code for seconds in (-300, 300)] == [202, 202]
    with api.db.transaction() as conn:
        assert [one for one in audited(conn, "refuse_call") if one[1] == hook.made["name"]] != []
    for id in (new_id(), "x", "%2F"):
        assert api.call("POST", f"/hooks/{id}", None).status_code == 404


def test_a_signature_is_taken_once_unless_nothing_came_of_it(api: Api) -> None:
    hook = Hook(api, input={"id": "{{ body.id }}"})
    at = time.time()
    assert [hook.call({"id": 1}, at=at).status_code for _ in range(3)] == [202, 409, 409]
    lacking = [hook.call({"no": 1}, at=at) for _ in range(2)]
    assert [answer.status_code for answer in lacking] == [422, 422]
    assert lacking[0].get_json()["errors"][0]["path"] == "input"
    assert hook.call({"id": 2}, at=at).status_code == 202


def test_a_key_of_the_template_starts_once(api: Api) -> None:
    hook = Hook(api, idempotency_key="order {{ body.id }}")
    first, again, other = (hook.call({"id": id, "n": n}).get_json() for n, id in enumerate((1, 1, 2)))
    assert (again["run_id"], again["created"]) == (first["run_id"], False)
    assert other["run_id"] != first["run_id"]


def test_a_hook_of_githubs_knows_a_delivery_again(api: Api) -> None:
    hook = Hook(api, scheme="github", input={"ref": "{{ body.ref }}", "event": "{{ headers['x-github-event'] }}"})
    first = hook.call_as_github({"ref": "main"}, "d1", **{"X-GitHub-Event": "push"}).get_json()
    again = hook.call_as_github({"ref": "main"}, "d1", **{"X-GitHub-Event": "push"})
    assert (again.status_code, again.get_json()) == (202, first | {"created": False})
    assert input_of(api, first["run_id"]) == {"ref": "main", "event": "push"}
    wrong = hook.call_as_github({"ref": "main"}, "d2", **{"X-Hub-Signature-256": "sha256=" + "0" * 64})
    assert (wrong.status_code, hook.call_as_github({"ref": "main"}, "").status_code) == (401, 401)
    assert hook.call({"ref": "main"}).status_code == 401


def test_an_event_goes_to_the_run_that_the_template_names(api: Api) -> None:
    hook = Hook(api, workflow=None, event="paid", run="{{ body.run }}", input="{{ body.amount }}")
    run_id, elsewhere = begin(api, "waits"), begin(api, "waits", "Shop")
    answer = hook.call({"run": run_id, "amount": 12})
    assert (answer.status_code, answer.get_json()) == (202, {"run_id": run_id, "created": False})
    api.work()
    assert api.hands.steps(run_id)["a"]["output"] == 12
    assert hook.call({"run": run_id, "amount": 13}).status_code == 409
    assert hook.call({"run": elsewhere, "amount": 1}).status_code == 404
    assert hook.call({"run": 7, "amount": 1}).status_code == 422


def test_a_hook_is_switched_off_given_a_new_secret_and_removed(api: Api) -> None:
    hook = Hook(api)
    assert api.call("PATCH", f"/hooks/{hook.id}", json={"enabled": False}).get_json()["enabled"] is False
    assert hook.call().status_code == 404
    api.call("PATCH", f"/hooks/{hook.id}", json={"enabled": True})
    rotated = api.post(f"/hooks/{hook.id}/rotate").get_json()
    assert hook.call().status_code == 401
    hook.secret = rotated["secret"]
    assert hook.call().status_code == 202
    listed = api.get("/hooks?limit=1000")["items"]
    assert hook.id in [one["id"] for one in listed]
    assert rotated["secret"] not in json.dumps(listed)
    assert api.call("DELETE", f"/hooks/{hook.id}").status_code == 204
    assert hook.call().status_code == 404


def test_a_hook_is_of_one_app(api: Api) -> None:
    shop, other = Hook(api, who=SHOP), Hook(api)
    assert {one["app"] for one in api.get("/hooks?limit=1000", SHOP)["items"]} == {"Shop"}
    assert api.call("GET", f"/hooks/{other.id}", SHOP).status_code == 404
    assert api.call("DELETE", f"/hooks/{other.id}", SHOP).status_code == 404
    assert api.post(f"/hooks/{other.id}/rotate", None, SHOP).status_code == 404
    assert api.post("/hooks", {"name": "x", "workflow": "called", "app": "default"}, SHOP).status_code == 404
    run_id = shop.call().get_json()["run_id"]
    with api.db.transaction() as conn:
        found = conn.execute(text("SELECT app_id FROM workflow_runs WHERE id = :id"), {"id": run_id}).scalar_one()
        assert found == conn.execute(text("SELECT id FROM apps WHERE name = 'Shop'")).scalar_one()


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"name": "x"}, {"workflow"}),
        ({"name": "x", "workflow": "called", "event": "e"}, {"workflow", "run"}),
        ({"name": "x", "event": "e", "run": "{{ body.x }}", "idempotency_key": "k"}, {"idempotency_key"}),
        ({"name": "x", "workflow": "called", "input": {"a": "{{ inptu.x }}"}, "idempotency_key": "{{"},
         {"input", "idempotency_key"}),
        ({"name": "x", "workflow": "called", "scheme": "md5"}, {"scheme"}),
    ],
)  # fmt: skip
def test_all_that_is_wrong_with_a_hook_is_told(api: Api, body: Any, paths: set[str]) -> None:
    answer = api.post("/hooks", body)
    assert (answer.status_code, {error["path"] for error in answer.get_json()["errors"]}) == (422, paths)


def test_a_hook_starts_a_workflow_that_is_there(api: Api) -> None:
    answer = api.post("/hooks", {"name": "x", "workflow": "caled"})
    assert (answer.status_code, "did you mean 'called'" in answer.text) == (404, True)


def test_a_secret_that_cannot_be_read_is_said_so(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = Hook(api)
    for key, told in (("y" * 16, "give it a new one"), (PASSING + "x" * 16, "SECRET_KEY"), (None, "SECRET_KEY")):
        monkeypatch.setitem(api.checked.app.extensions, "orchestrator.seal", Seal(key))
        answer = hook.call()
        assert (answer.status_code, told in answer.text) == (409, True)
    assert api.post("/hooks", {"name": "keyless", "workflow": "called"}).status_code == 409


def test_a_call_has_its_bounds(api: Api) -> None:
    hook = Hook(api)
    assert hook.call(b" " * ((1 << 20) + 1)).status_code == 413
    assert hook.call(b" " * (5 << 20)).status_code == 413
    assert hook.call(b"{").status_code == 400
    assert hook.call(b'{"a": 1}', content_type="text/plain").status_code == 202


class Broken:
    """Rates that fail in one way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def take(self, token_id: str) -> None:
        raise self.error


def test_every_documented_answer_of_a_call_is_given_as_documented(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = Hook(api, input="{{ body.x }}")
    at, body = time.time(), {"x": {}}
    api.checked.seen.clear()
    hook.call(body, at=at)
    for given in (body, {}, b"{", b" " * (5 << 20)):
        hook.call(given, at=at)
    api.call("POST", f"/hooks/{new_id()}", None)
    api.call("POST", f"/hooks/{hook.id}", None)
    for error in (TooManyRequests("slow down", retry_after=1), RuntimeError("boom"), Unreachable("away")):
        monkeypatch.setitem(api.checked.app.extensions, "orchestrator.rates", Broken(error))
        hook.call()
    rule = "/api/v1/hooks/{hook_id}"
    documented = {int(status) for status in api.checked.document["paths"][rule]["post"]["responses"]}
    assert documented == {status for method, path, status in api.checked.seen if (method, path) == ("POST", rule)}
