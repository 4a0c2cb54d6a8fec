"""Workflows and their revisions."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from orchestrator.domain.roles import Role
from tests.documents import document, step
from tests.web.api.conftest import Api

YAML = "name: from yaml\nsteps:\n  - {name: a, pass: true}\n"
NAMES = ("a/b", "#1: 100%", "%2F", "a?b&c=d", "名前", "a+b", "x;y", "é\u0301 🐍", "'\"<b>", "a\\b", "validate", "...")


def test_a_definition_becomes_a_revision_once_and_is_shown_as_it_was_given(api: Api) -> None:
    first = api.call("POST", "/workflows", data=YAML, content_type="application/yaml")
    assert (first.status_code, first.headers["Location"]) == (201, "/api/v1/workflows/from%20yaml?app=default")
    again = api.call("POST", "/workflows", data=YAML, content_type="application/yaml")
    assert (again.status_code, again.get_json()["created"]) == (200, False)
    second = document(step("a"), step("b", "a"), name="From YAML", version="2")
    assert api.post("/workflows", second).get_json()["revision"] == 2

    shown = api.get("/workflows/FROM%20yaml")
    assert (shown["name"], shown["revision"], shown["document"]) == ("From YAML", 2, second)
    assert [r["number"] for r in api.get("/workflows/from%20yaml/revisions")["items"]] == [2, 1]
    page = api.get("/workflows/from%20yaml/revisions?limit=1")
    assert [r["latest"] for r in page["items"]] == [True]
    assert [r["number"] for r in api.get(f"/workflows/from%20yaml/revisions?after={page['next']}")["items"]] == [1]
    assert api.get("/workflows/from%20yaml/revisions/1")["document"]["name"] == "from yaml"
    told = api.get("/workflows/from%20yaml/revisions/1/difference?to=2")
    assert [(c["path"], c["kind"]) for c in told["changes"]] == [
        ("name", "changed"),
        ("steps.a.pass", "removed"),
        ("steps.a.function", "added"),
        ("steps.b", "added"),
        ("version", "added"),
    ]
    assert "+version: '2'" in told["text"].splitlines()
    assert api.call("GET", "/workflows/from%20yaml/revisions/3").status_code == 404


@pytest.mark.parametrize("name", NAMES)
def test_any_name_can_be_asked_for(api: Api, name: str) -> None:
    api.register(name=name)
    address = f"/workflows/{quote(name, safe='')}"
    assert api.get(address)["name"] == name
    run_id = api.post(f"{address}/runs").get_json()["id"]
    assert [run["id"] for run in api.get(f"{address}/runs")["items"]] == [run_id]
    assert api.call("DELETE", f"{address}?force=true").status_code == 204
    assert api.call("GET", address).status_code == 404


def test_a_step_of_any_name_can_be_asked_for(api: Api) -> None:
    api.register(*(step(name) for name in NAMES), name="odd steps")
    run_id = api.start("odd steps")
    for name in NAMES:
        assert api.get(f"/runs/{run_id}/steps/{quote(name, safe='')}")["name"] == name


def test_workflows_are_listed_page_by_page(api: Api) -> None:
    for name in ("zz one", "zz two"):
        api.register(name=name, app="Shop")
    first = api.get("/workflows?limit=1&app=shop")
    rest = api.get(f"/workflows?app=shop&after={first['next']}")
    assert [w["name"] for w in first["items"] + rest["items"] if w["name"].startswith("zz")] == ["zz one", "zz two"]
    assert rest["next"] is None


def test_all_that_is_wrong_with_a_definition_is_told_with_its_place(api: Api) -> None:
    bad = document(step("a", "b", retry={"max_attempts": 0}), {"name": "c"}, name="bad", nonsense=1)
    answer = api.post("/workflows", bad)
    problem = answer.get_json()
    assert (answer.status_code, answer.mimetype, problem["title"]) == (422, "application/problem+json", "Invalid")
    paths = {error["path"] for error in problem["errors"]}
    assert {"nonsense", "steps[0].retry.max_attempts"} <= paths
    checked = api.post("/workflows/validate", bad).get_json()
    assert checked["valid"] is False
    assert {p["path"] for p in checked["problems"]} == paths
    good = api.post("/workflows/validate", document(step("a"), name="good"), Role.VIEWER).get_json()
    assert (good["valid"], good["workflow"], good["problems"]) == (True, "good", [])
    assert api.call("GET", "/workflows/good").status_code == 404


def test_a_workflow_with_active_runs_is_deleted_by_force_only(api: Api) -> None:
    api.register(name="busy")
    api.start("busy")
    refused = api.call("DELETE", "/workflows/busy")
    assert (refused.status_code, "1 active run" in refused.get_json()["detail"]) == (409, True)
    assert api.call("DELETE", "/workflows/busy?force=true&reason=old").status_code == 204


def test_a_group_owns_workflows_too(api: Api) -> None:
    made = api.post("/workflows?group=shops", document(step("a"), name="shared")).get_json()
    assert made["owner"] == {"kind": "group", "name": "shops"}
    assert api.get("/workflows/shared?group=shops")["owner"] == made["owner"]
    both = api.call("GET", "/workflows/shared?group=shops&app=default")
    assert [error["path"] for error in both.get_json()["errors"]] == ["group"]
    assert api.post("/workflows?group=shops", document(step("a")), (Role.AUTHOR, "Shop")).status_code == 403


def test_the_schema_of_definitions_is_served(api: Api) -> None:
    assert api.get("/schema")["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    "given", [{"data": b"name: [", "content_type": "application/yaml"}, {"json": [1]}, {"json": 1}]
)
def test_what_is_no_definition_is_refused(api: Api, given: dict[str, Any]) -> None:
    assert api.call("POST", "/workflows", **given).status_code == 422
