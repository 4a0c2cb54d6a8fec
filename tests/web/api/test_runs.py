"""Runs: started, found, looked at."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from orchestrator.domain.tracing import trace_of
from orchestrator.ids import new_id
from orchestrator.store.reads.trace import trace_id
from tests.documents import step
from tests.web.api.conftest import Api


def names(page: Any) -> list[str]:
    return [item["name"] for item in page["items"]]


def test_a_run_is_started_where_its_address_says_and_once_a_key(api: Api) -> None:
    api.register(name="started", tags=["t"])
    body = {"workflow": "started", "input": {"a": [1, None, "ü"]}, "tags": ["x"], "idempotency_key": "k"}
    first = api.post("/runs", body)
    run = first.get_json()
    assert (first.status_code, run["status"], run["input"]) == (201, "running", {"a": [1, None, "ü"]})
    assert (run["tags"], run["counts"]) == (["t", "x"], {"ready": 1})
    assert first.headers["Location"] == f"/api/v1/runs/{run['id']}"
    assert api.get(first.headers["Location"].removeprefix("/api/v1")) == run
    again = api.post("/workflows/started/runs", {}, headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.get_json()["id"]) == (200, run["id"])
    other = api.post("/runs", body, headers={"Idempotency-Key": "z"})
    assert [error["path"] for error in other.get_json()["errors"]] == ["idempotency_key"]


def test_a_run_belongs_to_the_trace_that_its_request_names(api: Api) -> None:
    api.register(name="traced")
    trace, child = (
        "0af7651916cd43dd8448eb211c80319c",
        {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    )
    one = api.post("/runs", {"workflow": "traced"}, headers=child).get_json()["id"]
    (many,) = api.post("/runs/batch", {"workflow": "traced", "inputs": [{}]}, headers=child).get_json()["ids"]
    faulty = api.post("/runs", {"workflow": "traced"}, headers={"traceparent": "00-0-0-01"}).get_json()["id"]
    with api.db.transaction() as conn:
        found = [trace_id(conn, id) for id in (one, many, faulty)]
        assert found == [trace, trace, trace_of(faulty, None)]
        assert trace_id(conn, new_id()) is None


def test_many_runs_are_started_together_or_none(api: Api) -> None:
    api.register(name="batch", input_schema={"type": "object", "required": ["n"]})
    made = api.post("/runs/batch", {"workflow": "batch", "inputs": [{"n": 1}, {"n": 2}]})
    ids = made.get_json()["ids"]
    assert (made.status_code, [api.get(f"/runs/{id}")["input"]["n"] for id in ids]) == (201, [1, 2])
    refused = api.post("/runs/batch", {"workflow": "batch", "inputs": [{"n": 1}, {}]})
    assert (refused.status_code, refused.get_json()["errors"][0]["path"]) == (422, "inputs[1].n")
    assert len(api.get("/runs?workflow=batch")["items"]) == 2
    assert api.post("/runs/batch", {"workflow": "batch", "inputs": []}).get_json() == {"ids": []}
    assert api.post("/runs/batch", {"workflow": "batch", "inputs": [1] * 10_001}).status_code == 422


def test_an_input_that_does_not_fit_is_told_with_its_place(api: Api) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "pin": {"type": "string", "writeOnly": True}}}
    api.register(name="strict", input_schema=schema)
    refused = api.post("/runs", {"workflow": "strict", "input": {"n": "x"}})
    assert (refused.status_code, refused.get_json()["errors"][0]["path"]) == (422, "input.n")
    assert api.post("/runs", {"workflow": "strict", "input": {"pin": "1234"}}).get_json()["input"] == {"pin": "***"}
    assert [run["input"] for run in api.get("/runs?workflow=strict")["items"]] == [{"pin": "***"}]
    unknown = api.post("/runs", {"workflow": "stritc"})
    assert (unknown.status_code, "did you mean 'strict'" in unknown.get_json()["detail"]) == (404, True)


def test_runs_are_found_by_all_filters(api: Api) -> None:
    api.register(step("bad", function="fail", input={"message": "bank is away"}), name="found", app="Shop")
    failed = api.start("found", app="Shop", tags=["red", "big"])
    api.work()
    open_run = api.start("found", app="Shop", tags=["red"], input={"id": 7})

    def ids(**query: Any) -> list[str]:
        text = "&".join(f"{name}={quote(str(one))}" for name, given in query.items() for one in given)
        return [run["id"] for run in api.get(f"/runs?workflow=found&{text}")["items"]]

    assert ids() == [open_run, failed]
    assert ids(status=["failed"]) == [failed]
    assert ids(status=["failed", "running"]) == [open_run, failed]
    assert ids(tag=["red", "big"]) == [failed]
    assert ids(error=["BANK is"]) == [failed]
    assert ids(app=["shop"]) == [open_run, failed]
    assert ids(app=["default"]) == []
    assert ids(roots_only=["true"]) == [open_run, failed]
    assert ids(children_of=[failed]) == []
    assert ids(where=["input.id=7"]) == [open_run]
    assert ids(where=["input.id=8", "input.id=7"]) == []
    created = api.get(f"/runs/{open_run}")["created_at"]
    assert ids(created_after=[created]) == [open_run]
    assert ids(created_before=[created]) == [failed]
    assert ids(created_after=["0001-01-01T00:00:00"]) == [open_run, failed]
    page = api.get("/runs?workflow=found&limit=1")
    assert [run["id"] for run in api.get(f"/runs?workflow=found&after={page['next']}")["items"]] == [failed]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("status=bad", "status[0]"),
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("after=x", "after"),
        ("created_after=yesterday", "created_after"),
        ("created_after=0001-01-01T00:00:00%2B14:00", "created_after"),
        ("children_of=1", "children_of"),
        ("workflow=", "workflow"),
        ("workflow=%00", "workflow"),
        ("tag=%00", "tag[0]"),
        ("error=%ED%A0%80%00", "error"),
        ("nonsense=1", "nonsense"),
        ("roots_only=maybe", "roots_only"),
        ("where=input.id", "where[0]"),
        ("where=%00", "where[0]"),
    ],
)
def test_a_filter_that_is_none_is_told_by_its_name(api: Api, query: str, path: str) -> None:
    answer = api.call("GET", f"/runs?{query}")
    assert (answer.status_code, [error["path"] for error in answer.get_json()["errors"]]) == (422, [path])


def test_a_run_is_looked_at_from_all_sides(api: Api) -> None:
    api.register(
        step("each", with_items="{{ [1, 2, 3] }}", input={"n": "{{ item }}"}),
        step("bad", "each", function="fail", input={"message": "no"}),
        step("late", "bad"),
        name="sides",
    )
    run_id = api.start("sides")
    why = api.get(f"/runs/{run_id}/steps/late/why")
    assert (why["step"], bool(why["why"])) == ("late", True)
    api.work()
    assert api.get("/runs?workflow=sides")["items"] == [api.get(f"/runs/{run_id}")]
    assert names(api.get(f"/runs/{run_id}/steps")) == ["each", "bad", "late"]
    assert names(api.get(f"/runs/{run_id}/steps?status=failed&status=upstream_failed")) == ["bad", "late"]
    page = api.get(f"/runs/{run_id}/steps?limit=2")
    assert names(api.get(f"/runs/{run_id}/steps?after={page['next']}")) == ["late"]
    assert api.get(f"/runs/{run_id}/steps/each")["items"]["succeeded"] == 3
    items = api.get(f"/runs/{run_id}/steps/each/items?limit=2")
    assert [(item["index"], item["output"]) for item in items["items"]] == [(0, {"n": 1}), (1, {"n": 2})]
    assert [i["index"] for i in api.get(f"/runs/{run_id}/steps/each/items?after={items['next']}")["items"]] == [2]
    (attempt,) = api.get(f"/runs/{run_id}/steps/bad/attempts")["items"]
    assert (attempt["outcome"], attempt["error"]["message"]) == ("failed", "no")
    kinds = [event["kind"] for event in api.get(f"/runs/{run_id}/events")["items"]]
    assert (kinds[0], kinds[-1]) == ("run.started", "run.failed")
    assert api.get(f"/runs/{run_id}/logs?step=bad")["items"] == []
    assert api.get(f"/runs/{run_id}/children")["items"][0]["id"] == run_id
    for form, begins in (("dot", "digraph"), ("mermaid", "flowchart"), ("svg", "<svg")):
        assert begins in api.get(f"/runs/{run_id}/graph?format={form}")["graph"]


def test_what_is_not_there_is_not_found(api: Api) -> None:
    api.register(name="there")
    run_id = api.start("there")
    parts = ("", "/steps", "/steps/a", "/steps/a/items", "/steps/a/attempts", "/steps/a/why", "/events", "/logs")
    for part in (*parts, "/children", "/graph"):
        for id in (new_id(), "latest", "%00", run_id.upper(), "x" * 300):
            assert api.call("GET", f"/runs/{id}{part}").status_code == 404
    for part in ("/steps/b", "/steps/b/items", "/steps/b/attempts", "/steps/b/why", "/steps/%00", "/logs?step=b"):
        assert api.call("GET", f"/runs/{run_id}{part}").status_code in (404, 422), part
    assert api.call("GET", f"/runs/{run_id}/logs?step=a&item=3").status_code == 404
