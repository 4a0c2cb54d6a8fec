"""How long runs are kept, and runs as lines, through the API: every documented answer, to those who may have it."""

from __future__ import annotations

import json
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
RULES, EXPORT = "/retention", "/runs/export"
RULE = {"workflow": "W", "status": "failed", "keep_seconds": 3600}


@pytest.fixture(scope="module")
def ready(api: Api) -> Api:
    for app in ("default", "Shop"):
        api.register(step("a"), name="w", app=app)
        api.start("w", app=app)
    api.work()
    return api


def operations(api: Api) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for method, path, operation in api.checked.operations():
        if operation["tags"] == ["retention"]:
            yield method, path.removeprefix(PREFIX), operation


def ask(api: Api, method: str, rule: str, who: Any = Role.ADMIN, query: str = "", **given: Any) -> int:
    if method == "PUT" and "data" not in given:
        given.setdefault("json", RULE)
    return api.call(method, rule + query, who, **given).status_code


def test_every_documented_answer_is_given_as_documented(ready: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ready.checked.seen.clear()
    for method, rule, operation in operations(ready):
        role = Role(operation["x-role"])
        assert ask(ready, method, rule, None) == 401
        assert ask(ready, method, rule, role, "?nonsense=1") == 422
        assert {ask(ready, method, rule, lower) for lower in Role if lower < role} <= {403}
    assert [ask(ready, method, RULES, SHOP) for method in ("GET", "PUT", "DELETE")] == [403] * 3
    assert ask(ready, "DELETE", RULES, query="?workflow=w&status=failed") == 404
    assert ask(ready, "PUT", RULES, json=RULE | {"workflow": "nope"}) == 404
    kind = {"content_type": "application/json"}
    assert ask(ready, "PUT", RULES, data=b"{", **kind) == 400
    assert ask(ready, "PUT", RULES, data=b"a=1", content_type="text/csv") == 415
    assert ask(ready, "PUT", RULES, data=b" " * (5 << 20), **kind) == 413
    assert [ask(ready, method, RULES) for method in ("PUT", "GET")] == [200, 200]
    assert ask(ready, "DELETE", RULES, query="?workflow=w&status=failed") == 204
    assert [ask(ready, "GET", EXPORT, SHOP, query) for query in ("", "?app=default")] == [200, 404]
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


def test_a_rule_is_told_and_what_is_wrong_with_one(ready: Api) -> None:
    items = ready.call("PUT", RULES, json=RULE | {"keep_newest": 5}).get_json()["items"]
    assert items[0] | {"changed_at": None} == {
        "what": "runs", "app": None, "workflow": "W", "status": "failed", "keep_seconds": 3600, "keep_newest": 5,
        "changed_at": None, "changed_by": items[0]["changed_by"], "default": False,
    }  # fmt: skip
    assert {item["what"] for item in items if item["default"]} >= {"audit_log", "schedule_fires", "tokens"}
    for wrong in (
        {"keep_seconds": -1},
        {"keep_newest": -1},
        {"status": "running"},
        {"what": "x"},
        {"keep_seconds": 10**12},
    ):
        assert ask(ready, "PUT", RULES, json=RULE | wrong) == 422


def test_an_export_has_the_runs_of_the_apps_that_the_token_sees(ready: Api) -> None:
    def exported(who: Any, query: str = "") -> list[str]:
        answer = ready.call("GET", EXPORT + query, who)
        assert answer.mimetype == "application/x-ndjson"
        lines = [json.loads(line) for line in answer.text.splitlines()]
        assert lines[0] == {"kind": "archive", "format": 1}
        return [line["app"] for line in lines if line["kind"] == "run"]

    assert exported(Role.OPERATOR) == ["Shop", "default"]
    assert exported((Role.OPERATOR, "Shop")) == ["Shop"]
    assert exported(Role.OPERATOR, "?most=1") == ["Shop"]
    assert exported(Role.OPERATOR, "?status=failed") == []
