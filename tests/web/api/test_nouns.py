"""Functions, workers, pools, queues, packs, apps, audit, tokens: every documented answer is given, to those who may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.domain.roles import Role
from orchestrator.errors import Unreachable
from orchestrator.ids import new_id
from tests.web.api.conftest import Api
from tests.web.api.operating import NOUNS, at_work, begin, pack_files
from web.errors import TooManyRequests

PREFIX = "/api/v1"
SHOP = (Role.ADMIN, "Shop")
FILES = {"files": pack_files("contracted", "packed")}
# The body, of a request that is answered well.
BODIES: dict[tuple[str, str], Any] = {
    ("PUT", "/pools/{name}"): {"slots": 3},
    ("POST", "/packs"): FILES,
    ("PUT", "/packs/{name}"): FILES,
    ("PUT", "/apps/{name}"): {"config": {"a": 1}},
    ("PUT", "/groups/{name}"): {"apps": []},
    ("POST", "/tokens"): {"name": "contract", "role": "viewer"},
    ("PUT", "/tokens/{name}/password"): {"password": "correct horse"},
    ("POST", "/hooks"): {"name": "contracted", "workflow": "pooled"},
    ("PATCH", "/hooks/{hook_id}"): {"enabled": True},
}
MADE_BY_NAME = ("/pools/{name}", "/groups/{name}")
CALL = ("POST", "/hooks/{hook_id}")  # signed, by nobody who has a role: tests/web/api/test_hooks.py
NAMES = {"/functions": "ok", "/pools": "small", "/packs": "contracted", "/apps": "Shop", "/groups": "shops",
         "/tokens": "contract"}  # fmt: skip


@pytest.fixture(scope="module")
def ready(api: Api) -> Api:
    at_work(api)
    return api


def operations(api: Api) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for method, path, operation in api.checked.operations():
        if operation["tags"][0] in NOUNS and (method, path.removeprefix(PREFIX)) != CALL:
            yield method, path.removeprefix(PREFIX), operation


def address(rule: str, name: str | None = None) -> str:
    noun = "/" + rule.split("/")[1]
    return rule.format(name=name or NAMES.get(noun), worker_id=name or "hand", hook_id=name or "contracted")


def ask(api: Api, method: str, rule: str, who: Any, where: str | None = None, **given: Any) -> Any:
    if "data" not in given and (method, rule) in BODIES:
        given["json"] = BODIES[method, rule]
    return api.call(method, where or address(rule), who, **given)


def test_every_documented_answer_is_given_as_documented(ready: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ready.checked.seen.clear()
    for method, rule, operation in operations(ready):
        _refuse(ready, method, rule, Role(operation["x-role"]))
    _succeed(ready)
    _conflict(ready)
    _fail(ready, monkeypatch)
    documented = {
        (method, PREFIX + rule, int(status))
        for method, rule, operation in operations(ready)
        for status in operation["responses"]
    }
    for rule in MADE_BY_NAME:  # a name that cannot be printed comes to no route
        assert ready.call("PUT", rule.format(name="%00"), json=BODIES["PUT", rule]).status_code == 404
        ready.checked.seen.add(("PUT", PREFIX + rule, 404))
    assert documented - ready.checked.seen == set()


def _refuse(api: Api, method: str, rule: str, role: Role) -> None:
    assert ask(api, method, rule, None).status_code == 401
    assert ask(api, method, rule, role, f"{address(rule)}?nonsense=1").status_code == 422
    for lower in [each for each in Role if each < role]:
        assert ask(api, method, rule, lower).status_code == 403
    if "{" in rule and not (method == "PUT" and rule in MADE_BY_NAME):
        who = SHOP if rule == "/apps/{name}" else role
        nowhere = address(rule, "contracted" if rule == "/packs/{name}" else "nope")  # which is not installed yet
        assert ask(api, method, rule, who, nowhere).status_code == 404, (method, rule)
    if (method, rule) in BODIES:
        kind = {"content_type": "application/json"}
        assert ask(api, method, rule, role, data=b"{", **kind).status_code == 400
        assert ask(api, method, rule, role, data=b"a=1", content_type="text/csv").status_code == 415
        assert ask(api, method, rule, role, data=b" " * (5 << 20), **kind).status_code == 413


def _succeed(api: Api) -> None:
    for path in ("/functions?limit=1", "/functions/ok", "/functions/ok/workflows", "/workers", "/workers/hand",
                 "/workers/hand/steps", "/queues", "/apps", "/apps/Shop", "/groups", "/audit", "/tokens",
                 "/me"):  # fmt: skip
        api.get(path)
    for status in (201, 200):
        assert ask(api, "PUT", "/pools/{name}", Role.AUTHOR, "/pools/contracted").status_code == status
        assert ask(api, "PUT", "/apps/{name}", Role.ADMIN, "/apps/contracted").status_code == status
        assert ask(api, "PUT", "/groups/{name}", Role.ADMIN, "/groups/contracted").status_code == status
    for path in ("/pools", "/pools/contracted", "/pools/contracted/holders", "/pools/contracted/waiters"):
        api.get(path)
    api.get("/groups/contracted")
    assert api.call("DELETE", "/pools/contracted").status_code == 204
    assert ask(api, "POST", "/packs", Role.AUTHOR, "/packs?dry_run=true").status_code == 200
    assert ask(api, "POST", "/packs", Role.AUTHOR).status_code == 201
    assert ask(api, "PUT", "/packs/{name}", Role.AUTHOR).status_code == 200
    assert ask(api, "POST", "/tokens", Role.ADMIN).status_code == 201
    assert ask(api, "PUT", "/tokens/{name}/password", Role.ADMIN).status_code == 200
    assert ask(api, "POST", "/hooks", Role.AUTHOR).status_code == 201
    assert ask(api, "PATCH", "/hooks/{hook_id}", Role.AUTHOR).status_code == 200
    assert api.post("/hooks/contracted/rotate").status_code == 200
    for path in ("/packs", "/packs/contracted", "/hooks", "/hooks/contracted"):
        api.get(path)


def _conflict(api: Api) -> None:
    assert ask(api, "POST", "/packs", Role.AUTHOR).status_code == 409
    assert ask(api, "POST", "/tokens", Role.ADMIN).status_code == 409
    assert ask(api, "POST", "/hooks", Role.AUTHOR).status_code == 409
    _hooks_of_one_name(api)
    assert api.call("DELETE", "/pools/small").status_code == 409
    run_id = begin(api, "packed")
    assert api.call("DELETE", "/packs/contracted").status_code == 409
    without = {"files": pack_files("contracted", "other")}
    assert api.call("PUT", "/packs/contracted", json=without).status_code == 409
    api.work()
    assert api.hands.status(run_id) == "succeeded"
    assert api.call("DELETE", "/packs/contracted").status_code == 200
    assert api.call("DELETE", "/tokens/contract").status_code == 204
    assert api.call("GET", f"/audit?run={new_id()}", SHOP).status_code == 404
    assert api.call("GET", "/packs?app=nowhere").status_code == 404
    elsewhere = {"name": "other", "workflow": "pooled", "app": "default"}
    for method, path, body in (
        ("POST", "/packs?app=default", FILES),
        ("POST", "/tokens", TOKEN_OF_DEFAULT),
        ("POST", "/hooks", elsewhere),
        ("GET", "/hooks?app=default", None),
    ):
        given = {"json": body} if body is not None else {}
        assert api.call(method, path, SHOP, **given).status_code == 404


def _hooks_of_one_name(api: Api) -> None:
    """A name that hooks of two apps have says which only together with the app."""
    assert api.post("/hooks", BODIES["POST", "/hooks"], SHOP).status_code == 201
    for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "/rotate")):
        body = {"json": {"enabled": True}} if method == "PATCH" else {}
        assert api.call(method, f"/hooks/contracted{path}", **body).status_code == 409
        if method != "DELETE":
            assert api.call(method, f"/hooks/contracted{path}", SHOP, **body).status_code == 200
    assert api.call("DELETE", "/hooks/contracted", SHOP).status_code == 204
    assert api.call("DELETE", "/hooks/contracted").status_code == 204


TOKEN_OF_DEFAULT = {"name": "other", "role": "viewer", "app": "default"}


class Broken:
    """Rates that fail in one way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def take(self, token_id: str) -> None:
        raise self.error


def _fail(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, status in (
        (TooManyRequests("slow down", retry_after=1), 429),
        (RuntimeError("boom"), 500),
        (Unreachable("away"), 503),
    ):
        monkeypatch.setitem(api.checked.app.extensions, "orchestrator.rates", Broken(error))
        assert {ask(api, method, rule, Role.ADMIN).status_code for method, rule, _ in operations(api)} == {status}
    monkeypatch.undo()


def test_what_is_of_all_apps_is_not_changed_by_a_token_of_one(ready: Api) -> None:
    for method, path, body in (
        ("PUT", "/pools/small", {"slots": 9}),
        ("DELETE", "/pools/small", None),
        ("PUT", "/groups/shops", {"apps": []}),
        ("PUT", "/apps/shop", {"group": "shops"}),
        ("POST", "/packs?group=shops", FILES),
        ("GET", "/audit", None),
    ):
        given = {"json": body} if body is not None else {}
        assert ready.call(method, path, SHOP, **given).status_code == 403, path
