"""What people do to runs."""

from __future__ import annotations

from typing import Any

from orchestrator.domain.roles import Role
from orchestrator.ids import new_id
from orchestrator.store.reads import list_audit
from tests.documents import step
from tests.web.api.conftest import Api

FORM = {"title": "Pay?", "fields": {"amount": {"type": "integer"}}}


def failed(api: Api, name: str, **keys: Any) -> str:
    api.register(step("a"), step("bad", "a", function="fail"), step("late", "bad"), name=name, **keys)
    run_id = api.start(name)
    api.work()
    return run_id


def act(api: Api, run_id: str, verb: str, who: Any = Role.OPERATOR, **body: Any) -> Any:
    answer = api.post(f"/runs/{run_id}/{verb}", body, who)
    assert answer.status_code in (200, 201), answer.text
    return answer.get_json()


def test_a_run_is_steered_and_each_act_is_audited_with_who_and_why(api: Api) -> None:
    api.register(step("a"), name="steered")
    run_id = api.start("steered")
    assert act(api, run_id, "pause", reason="lunch")["run"]["pause_reason"] == "lunch"
    refused = api.post(f"/runs/{run_id}/pause")
    assert (refused.status_code, refused.get_json()["title"]) == (409, "Conflict")
    assert act(api, run_id, "resume")["run"]["status"] == "running"
    assert act(api, run_id, "cancel", force=True, reason="enough")["run"]["status"] == "canceled"
    with api.db.transaction() as conn:
        acts = [(a["actor"], a["action"], a["reason"]) for a in list_audit(conn, run_id).items]
    assert acts == [
        ("api:operator", "cancel", "enough"),
        ("api:operator", "resume", None),
        ("api:operator", "pause", "lunch"),
    ]
    assert api.call("POST", f"/runs/{run_id}/cancel").status_code == 409
    assert api.call("POST", f"/runs/{new_id()}/cancel").status_code == 404


def test_a_failed_run_is_retried_marked_and_rerun(api: Api) -> None:
    run_id = failed(api, "mended")
    assert act(api, run_id, "retry")["opened"] == 2
    api.work()
    made = api.post(f"/runs/{run_id}/rerun", {"from_steps": ["bad"], "reason": "again"})
    rerun = made.get_json()
    assert (made.status_code, rerun["kept"], rerun["failing"]) == (201, 1, [])
    assert made.headers["Location"] == f"/api/v1/runs/{rerun['run']['id']}"
    assert rerun["run"]["rerun_of"] == run_id
    assert act(api, run_id, "rerun", input={"new": 1}, revision="latest")["run"]["input"] == {"new": 1}
    assert act(api, run_id, "rerun", revision=1)["run"]["revision"] == 1
    for revision in (0, "old", True, None, [1]):
        assert api.post(f"/runs/{run_id}/rerun", {"revision": revision}).status_code == 422
    assert api.post(f"/runs/{run_id}/rerun", {"revision": 99}).status_code == 404
    assert act(api, run_id, "mark", step="bad", status="succeeded", output={"by": "hand"})["run"]["status"] == "running"
    assert api.get(f"/runs/{run_id}/steps/bad")["output"] == {"by": "hand"}
    assert api.post(f"/runs/{run_id}/mark", {"step": "bad", "status": "failed"}).status_code == 422
    assert api.post(f"/runs/{run_id}/mark", {"step": "nope", "status": "skipped"}).status_code == 404


def test_a_step_is_held_until_it_is_released(api: Api) -> None:
    api.register(step("a"), step("b", "a"), name="holding")
    run_id = api.start("holding")
    act(api, run_id, "hold", step="b", reason="wait")
    assert api.get(f"/runs/{run_id}/steps/b")["held"]["by"] == "api:operator"
    assert api.post(f"/runs/{run_id}/hold", {"step": "b"}).status_code == 409
    act(api, run_id, "release", step="b")
    assert api.get(f"/runs/{run_id}/steps/b")["held"] is None
    assert api.post(f"/runs/{run_id}/release", {"step": "b"}).status_code == 409


def test_an_event_is_taken_by_who_waits_and_kept_for_who_will(api: Api) -> None:
    asked = {"event": "paid/now", "schema": {"type": "object", "required": ["n"]}}
    api.register({"name": "wait", "wait_for": asked}, name="signaled")
    run_id = api.start("signaled")
    api.work()
    refused = api.post(f"/runs/{run_id}/signal/paid%2Fnow", {})
    assert (refused.status_code, refused.get_json()["errors"][0]["path"]) == (422, "payload.n")
    taken = act(api, run_id, "signal/paid%2Fnow", n=1)
    assert (taken["step"], taken["earlier"]) == ("wait", None)
    later = api.post(f"/runs/{run_id}/signal/paid%2Fnow", {"n": 2})
    assert later.status_code in (200, 409)
    assert api.post(f"/runs/{run_id}/signal/nope").status_code in (404, 409)
    api.register({"name": "wait", "wait_for": {"event": "go"}}, name="bare signal")
    bare = api.start("bare signal")
    assert api.call("POST", f"/runs/{bare}/signal/go").status_code == 200
    assert api.call("POST", f"/runs/{bare}/signal/go", data="x=1").status_code == 415


def test_an_approval_is_in_the_inbox_until_it_is_decided(api: Api) -> None:
    api.register({"name": "ask me", "wait_for": {"approval": FORM}}, name="approved")
    runs = [api.start("approved") for _ in range(2)]
    api.work()
    inbox = [one for one in api.get("/approvals")["items"] if one["workflow"] == "approved"]
    assert [one["run_id"] for one in inbox] == runs
    assert (inbox[0]["title"], inbox[0]["fields"]) == ("Pay?", FORM["fields"])
    page = api.get("/approvals?limit=1")
    assert len(page["items"]) == 1
    assert api.call("GET", "/approvals?after=x").status_code == 422
    address = f"/runs/{runs[0]}/steps/ask%20me"
    wrong = api.post(f"{address}/approve", {"fields": {"amount": "x"}})
    assert (wrong.status_code, wrong.get_json()["errors"][0]["path"]) == (422, "fields.amount")
    assert api.post(f"{address}/approve", {"fields": {"amount": 5}, "comment": "fine"}).get_json()["step"] == "ask me"
    assert api.post(f"{address}/reject").status_code == 409
    assert api.post(f"/runs/{runs[1]}/steps/ask%20me/reject").status_code == 200
    assert api.post(f"/runs/{runs[1]}/steps/nope/reject").status_code == 404


def test_a_verb_on_many_runs_is_previewed_and_acts_on_what_the_preview_found(api: Api) -> None:
    api.register(step("a"), name="bulky")
    runs = [api.start("bulky") for _ in range(3)]
    asked: dict[str, Any] = {"verb": "pause", "filters": {"workflow": "bulky"}, "reason": "stop"}
    preview = api.post("/runs/bulk", asked | {"preview": True}).get_json()
    assert (preview["count"], preview["counts"], preview["bulk_id"], preview["items"]) == (3, {"running": 3}, None, [])
    assert [run["id"] for run in preview["first"]] == runs[::-1]
    assert api.post("/runs/bulk", asked | {"count": 2}).status_code == 409
    done = api.post("/runs/bulk", asked | {"count": 3}).get_json()
    assert [(one["id"], one["done"]) for one in done["items"]] == [(id, True) for id in runs[::-1]]
    with api.db.transaction() as conn:
        assert len(list_audit(conn, bulk_id=done["bulk_id"]).items) == 3
    refused = api.post("/runs/bulk", asked | {"filters": {"workflow": "bulky", "status": ["paused"]}}).get_json()
    assert [one["done"] for one in refused["items"]] == [False] * 3
    api.post("/runs/bulk", {"verb": "cancel", "filters": {"workflow": "bulky"}, "force": True})
    again = api.post("/runs/bulk", {"verb": "rerun", "filters": {"workflow": "bulky"}, "input": {"n": 1}}).get_json()
    assert [api.get(f"/runs/{one['new_run_id']}")["rerun_of"] for one in again["items"]] == runs[::-1]


def test_a_bulk_names_a_filter_and_takes_only_what_its_verb_knows(api: Api) -> None:
    def paths(who: Any = Role.ADMIN, **body: Any) -> list[str]:
        answer = api.post("/runs/bulk", {"verb": "pause"} | body, who)
        assert answer.status_code == 422, answer.text
        return sorted(error["path"] for error in answer.get_json()["errors"])

    assert paths(filters={}) == ["filters"]
    assert paths((Role.ADMIN, "Shop"), filters={}) == ["filters"]
    assert paths(filters={"workflow": "x"}, force=True, input=1) == ["force", "input"]
    assert paths(filters={"status": ["bad"], "limit": 1}) == ["filters.limit", "filters.status[0]"]
    assert api.post("/runs/bulk", {"verb": "pause", "filters": {"workflow": "never heard of"}}).status_code == 404
