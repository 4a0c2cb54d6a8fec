"""Schedules through the API: every documented answer is given, to those who may have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.domain.roles import Role
from orchestrator.errors import Unreachable
from tests.documents import step
from tests.web.api.conftest import Api
from tests.web.api.test_nouns import Broken
from web.errors import TooManyRequests

PREFIX = "/api/v1"
SHOP = (Role.ADMIN, "Shop")
ONE = "/schedules/{which}"
NEW = {"name": "s", "workflow": "w", "cron": "30 2 * * *", "timezone": "Europe/London"}
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/schedules"): NEW,
    ("POST", "/schedules/preview"): {"cron": "0 9 * * mon"},
    ("PATCH", ONE): {"input": {"a": 1}},
    ("POST", f"{ONE}/pause"): {"reason": "lunch"},
    ("POST", f"{ONE}/resume"): {},
    ("POST", f"{ONE}/fire"): {},
    ("POST", f"{ONE}/backfill"): {"first": "2026-11-01T00:00:00Z", "until": "2026-11-03T00:00:00Z", "dry_run": True},
}


@pytest.fixture(scope="module")
def ready(api: Api) -> Api:
    for app in ("default", "Shop"):
        api.register(step("a"), name="w", app=app)
    return api


def operations(api: Api) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for method, path, operation in api.checked.operations():
        if operation["tags"] == ["schedules"]:
            yield method, path.removeprefix(PREFIX), operation


def ask(
    api: Api, method: str, rule: str, who: Any = Role.ADMIN, which: str = "s", query: str = "", **given: Any
) -> int:
    if "data" not in given and (method, rule) in BODIES:
        given["json"] = BODIES[method, rule]
    return api.call(method, rule.format(which=which) + query, who, **given).status_code


def test_every_documented_answer_is_given_as_documented(ready: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ready.checked.seen.clear()
    for method, rule, operation in operations(ready):
        _refuse(ready, method, rule, Role(operation["x-role"]))
    for method, rule in (("POST", "/schedules"), ("GET", "/schedules"), *BODIES):
        status = {"POST /schedules": 201}.get(f"{method} {rule}", 200)
        who = SHOP if (method, rule) == ("POST", "/schedules") and ready.get("/schedules")["items"] else Role.OPERATOR
        assert ask(ready, method, rule, Role.ADMIN if who is Role.OPERATOR else who, query=_of(rule)) == status, rule
    for path in ("", "/fires", "/next"):
        ready.get(f"/schedules/s{path}?app=default")
    for method, rule in BODIES:  # two apps have one of this name
        if "{which}" in rule and method != "GET":
            assert ask(ready, method, rule) == 409, rule
    assert ask(ready, "DELETE", ONE) == 409
    assert ask(ready, "POST", "/schedules") == 409
    assert ask(ready, "DELETE", ONE, query="?app=Shop") == 204
    assert ask(ready, "GET", "/schedules", SHOP, query="?app=default") == 404
    assert ready.call("POST", "/schedules", json=NEW | {"name": "t", "workflow": "nope"}).status_code == 404
    for error, status in (
        (TooManyRequests("slow down", retry_after=1), 429),
        (RuntimeError("boom"), 500),
        (Unreachable("away"), 503),
    ):
        monkeypatch.setitem(ready.checked.app.extensions, "orchestrator.rates", Broken(error))
        assert {ask(ready, method, rule) for method, rule, _ in operations(ready)} == {status}
    monkeypatch.undo()
    documented = {
        (method, PREFIX + rule, int(status))
        for method, rule, operation in operations(ready)
        for status in operation["responses"]
    }
    assert documented - ready.checked.seen == set()


def _of(rule: str) -> str:
    return "?app=default" if "{which}" in rule else ""


def _refuse(api: Api, method: str, rule: str, role: Role) -> None:
    assert ask(api, method, rule, None) == 401
    assert ask(api, method, rule, role, query="?nonsense=1") == 422
    for lower in [each for each in Role if each < role]:
        assert ask(api, method, rule, lower) == 403
    if "{which}" in rule:
        assert ask(api, method, rule, role, "nope") == 404
    if (method, rule) in BODIES:
        kind = {"content_type": "application/json"}
        assert ask(api, method, rule, role, data=b"{", **kind) == 400
        assert ask(api, method, rule, role, data=b"a=1", content_type="text/csv") == 415
        assert ask(api, method, rule, role, data=b" " * (5 << 20), **kind) == 413


def test_what_is_wrong_is_told_with_its_place(ready: Api) -> None:
    answer = ready.post(
        "/schedules", NEW | {"name": "bad", "cron": "99 * * * *", "timezone": "Mars", "jitter_seconds": 10**6}
    )
    assert (answer.status_code, [e["path"] for e in answer.get_json()["errors"]]) == (
        422,
        ["cron", "timezone", "jitter_seconds"],
    )
    assert ready.post("/schedules/preview", {"interval_seconds": 5, "cron": "* * * * *"}).status_code == 422
    assert ready.post("/schedules/preview", {"interval_seconds": 1.5}).status_code == 422


def test_a_schedule_of_another_app_is_not_there(ready: Api) -> None:
    made = ready.post("/schedules", NEW | {"name": "mine", "paused": True}).get_json()
    assert (made["paused"], made["next_fires"], made["next_fire_at"]) == (True, [], None)
    for which in ("mine", made["id"]):
        assert ready.call("GET", f"/schedules/{which}", SHOP).status_code == 404
        assert ready.call("DELETE", f"/schedules/{which}", SHOP).status_code == 404
        assert ready.post(f"/schedules/{which}/fire", {}, SHOP).status_code == 404
    assert "mine" not in [item["name"] for item in ready.get("/schedules", SHOP)["items"]]
    assert ready.call("GET", "/runs?schedule=mine", SHOP).status_code == 404
    fired = ready.post("/schedules/mine/fire", {"reason": "now"}).get_json()
    assert ready.get(f"/runs/{fired['run_id']}")["schedule"]["name"] == "mine"
    assert [run["id"] for run in ready.get("/runs?schedule=mine")["items"]] == [fired["run_id"]]
    assert len(ready.get("/schedules/mine/next?count=3&after=2026-01-01T00:00:00Z")["items"]) == 3
