"""Alert rules through the API: every documented answer is given, to those who may have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.domain.roles import Role
from orchestrator.errors import Unreachable
from orchestrator.store.reads import list_audit
from tests.web.api.conftest import Api
from tests.web.api.test_nouns import Broken
from web.errors import TooManyRequests

PREFIX = "/api/v1"
SHOP = (Role.ADMIN, "Shop")
ONE = "/alerts/{which}"
URL = "https://hooks.example.com/services/very-secret-part"
NEW = {"name": "s", "kinds": ["run_failed"], "webhook": URL, "secret": "s3cret"}
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/alerts"): NEW,
    ("PATCH", ONE): {"severity": "critical"},
    ("POST", f"{ONE}/pause"): {"reason": "lunch"},
    ("POST", f"{ONE}/resume"): {},
}


def operations(api: Api) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for method, path, operation in api.checked.operations():
        if operation["tags"] == ["alerts"]:
            yield method, path.removeprefix(PREFIX), operation


def ask(
    api: Api, method: str, rule: str, who: Any = Role.ADMIN, which: str = "s", query: str = "", **given: Any
) -> int:
    if "data" not in given and (method, rule) in BODIES:
        given["json"] = BODIES[method, rule]
    return api.call(method, rule.format(which=which) + query, who, **given).status_code


def test_every_documented_answer_is_given_as_documented(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.checked.seen.clear()
    for method, rule, operation in operations(api):
        _refuse(api, method, rule, Role(operation["x-role"]))
    ours = "?app=default"
    assert ask(api, "POST", "/alerts") == 201
    assert api.post("/alerts", NEW, SHOP).status_code == 201
    assert ask(api, "PATCH", ONE, query=ours) == 200
    assert ask(api, "POST", f"{ONE}/test", query=ours) == 202
    for path in ("", "/s", "/s/found", "/s/deliveries"):
        api.get(f"/alerts{path}{ours}", Role.VIEWER)
    for verb, status in (("pause", 200), ("pause", 409), ("test", 409), ("resume", 200)):
        assert ask(api, "POST", f"{ONE}/{verb}", query=ours) == status
    for method, rule, _ in operations(api):  # two apps have one of this name
        if "{which}" in rule and method != "GET":
            assert ask(api, method, rule) == 409, rule
    assert ask(api, "POST", "/alerts") == 409
    assert ask(api, "DELETE", ONE, query="?app=Shop") == 204
    assert ask(api, "GET", "/alerts", SHOP, query=ours) == 404
    assert api.post("/alerts", NEW | {"app": "nope"}).status_code == 404
    for error, status in (
        (TooManyRequests("slow down", retry_after=1), 429),
        (RuntimeError("boom"), 500),
        (Unreachable("away"), 503),
    ):
        monkeypatch.setitem(api.checked.app.extensions, "orchestrator.rates", Broken(error))
        assert {ask(api, method, rule) for method, rule, _ in operations(api)} == {status}
    monkeypatch.undo()
    documented = {
        (method, PREFIX + rule, int(status))
        for method, rule, operation in operations(api)
        for status in operation["responses"]
    }
    assert documented - api.checked.seen == set()


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


def test_what_is_wrong_is_told_with_its_place_and_without_the_url(api: Api) -> None:
    bad = {"name": "bad", "kinds": ["queue_stuck"], "workflow": "w", "late_seconds": 5, "emails": ["a\n@x", "b@x.y"]}
    answer = api.post("/alerts", bad | {"webhook": "ftp://user:hunter2@x/secret-part"})
    places = ["late_seconds", "workflow", "emails", "webhook"]
    assert (answer.status_code, [e["path"] for e in answer.get_json()["errors"]]) == (422, places)
    assert "secret-part" not in answer.text
    assert "hunter2" not in answer.text
    assert api.post("/alerts", {"name": "bad", "kinds": ["run_failed"]}).status_code == 422
    assert api.post("/alerts", {"name": "bad", "webhook": URL}).status_code == 422


def test_urls_and_secrets_are_shown_to_nobody(api: Api) -> None:
    made = api.post("/alerts", NEW | {"name": "hidden"})
    shown = made.text + str(api.get("/alerts")) + str(api.get("/alerts/hidden"))
    with api.db.transaction() as conn:
        shown += str(list_audit(conn).items)
    assert "hooks.example.com" in shown
    assert "very-secret-part" not in shown
    assert "s3cret" not in shown
    changed = api.call("PATCH", "/alerts/hidden", json={"webhook": "secrets.pager", "secret": None}).get_json()
    assert (changed["webhook"], changed["signed"]) == ("secrets.pager", False)


def test_a_rule_of_another_app_or_of_all_is_not_there_for_a_token_of_one(api: Api) -> None:
    everywhere = api.post("/alerts", NEW | {"name": "everywhere", "all_apps": True}).get_json()
    api.post("/alerts", NEW | {"name": "mine", "severity": "critical"})
    assert everywhere["app"] is None
    assert api.post("/alerts", NEW | {"name": "more", "all_apps": True}, SHOP).status_code == 403
    for which in ("mine", "everywhere", everywhere["id"]):
        assert api.call("GET", f"/alerts/{which}", SHOP).status_code == 404
        assert api.call("POST", f"/alerts/{which}/test", SHOP).status_code == 404
        assert api.call("DELETE", f"/alerts/{which}", SHOP).status_code == 404
        assert api.call("PATCH", f"/alerts/{which}", SHOP, json={"severity": "info"}).status_code == 404
    assert [item["name"] for item in api.get("/alerts", SHOP)["items"]] == []
    critical = [item["name"] for item in api.get("/alerts?severity=critical")["items"]]
    assert ("mine" in critical, "everywhere" in critical) == (True, False)
