"""What runs need, and who may see and change it: pools, queues, workers, functions, packs, apps, audit, tokens."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.domain.roles import Role
from tests.web.api.conftest import Api
from tests.web.api.operating import at_work, pack_files

SHOP = (Role.ADMIN, "Shop")


@pytest.fixture(scope="module")
def runs(api: Api) -> dict[str, str]:
    return at_work(api)


def pages(api: Api, path: str, who: Any = Role.ADMIN) -> list[Any]:
    """All items, one a page."""
    items, after = [], ""
    while True:
        page = api.get(f"{path}?limit=1{after}", who)
        items += page["items"]
        if page["next"] is None:
            return items
        after = f"&after={page['next']}"


def test_a_pool_tells_who_holds_it_and_who_waits(api: Api, runs: dict[str, str]) -> None:
    api.call("PUT", "/pools/another", json={"slots": 1, "description": "one at a time"})
    assert [pool["name"] for pool in pages(api, "/pools")] == ["another", "small"]
    assert api.get("/pools/another")["description"] == "one at a time"
    small = api.get("/pools/small")
    assert (small["slots"], small["taken"], small["waiting"]) == (2, 2, 4)
    holders = pages(api, "/pools/small/holders")
    assert [(held["run_id"], held["step"], held["status"]) for held in holders] == [
        (runs["default"], "a", "running"),
        (runs["Shop"], "a", "running"),
    ]
    assert [waiter["step"] for waiter in pages(api, "/pools/small/waiters")] == ["b", "c"] * 2
    for part in ("holders", "waiters"):
        own = pages(api, f"/pools/small/{part}", (Role.VIEWER, "Shop"))
        assert {held["run_id"] for held in own} == {runs["Shop"]}
    api.call("PUT", "/pools/another", json={"slots": 0})
    assert api.get("/pools/another") | {"changed_at": None, "oldest": None} == {
        "name": "another", "slots": 0, "taken": 0, "waiting": 0, "description": "one at a time", "oldest": None,
        "changed_at": None,
    }  # fmt: skip


def test_queues_tell_their_depth_and_who_takes_from_them(api: Api, runs: dict[str, str]) -> None:
    (queue,) = pages(api, "/queues")
    assert queue.pop("oldest") is not None
    assert queue == {"name": "default", "ready": 4, "queued": 0, "running": 2, "workers": 1, "slots": 4}


def test_a_worker_tells_what_it_runs(api: Api, runs: dict[str, str]) -> None:
    assert [(w["id"], w["status"], w["running"]) for w in pages(api, "/workers")] == [("hand", "alive", 2)]
    assert api.get("/workers/hand")["queues"] == ["default", "*"]
    steps = pages(api, "/workers/hand/steps")
    assert [(s["run_id"], s["app"], s["workflow"], s["step"], s["item"], s["attempt"]) for s in steps] == [
        (runs[app], app, "pooled", "a", None, 1) for app in ("default", "Shop")
    ]
    assert [s["app"] for s in pages(api, "/workers/hand/steps", (Role.VIEWER, "Shop"))] == ["Shop"]


def test_a_function_tells_who_calls_it(api: Api, runs: dict[str, str]) -> None:
    assert [function["name"] for function in pages(api, "/functions")] == ["fail", "ok"]
    used = api.get("/functions/ok")["used_by"]
    assert [(user["workflow"], user["owner"]["name"], user["steps"]) for user in used] == [
        ("pooled", app, ["a", "b", "c"]) for app in ("default", "Shop")
    ]
    assert pages(api, "/functions/ok/workflows") == used
    assert [u["owner"]["name"] for u in api.get("/functions/ok", (Role.VIEWER, "Shop"))["used_by"]] == ["Shop"]
    assert api.call("GET", "/functions/okk").get_json()["detail"].endswith("did you mean 'ok'?")


def zipped(files: dict[str, str], top: str = "") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(top + path, text)
    return made.getvalue()


def tarred(files: dict[str, str], mode: Any = "w:gz") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("workflows/link.yaml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return made.getvalue()


def test_a_pack_comes_as_zip_tar_or_files_and_goes(api: Api) -> None:
    first = pack_files("p", "p1", "p2", version="1") | {"README.md": "x", "workflows/deep/er.yaml": "[", ".git/x": "y"}
    made = api.call("POST", "/packs?app=shop", data=zipped(first, "repo-main/"), content_type="application/zip")
    assert (made.status_code, made.headers["Location"]) == (201, "/api/v1/packs/p")
    assert [(w["workflow"], w["change"]) for w in made.get_json()["workflows"]] == [("p1", "added"), ("p2", "added")]
    second = tarred(pack_files("P", "p2", "p3", version="2"))
    path = "/packs/p?app=Shop&dry_run=true"
    tried = api.call("PUT", path, data=second, content_type="application/gzip").get_json()
    done = api.call("PUT", path.replace("true", "false"), data=second, content_type="application/gzip").get_json()
    assert done | {"dry_run": True} == tried
    assert {w["workflow"]: w["change"] for w in done["workflows"]} == {
        "p1": "removed",
        "p2": "unchanged",
        "p3": "added",
    }
    assert (done["before"], done["version"]) == ("1", "2")
    shown = api.get("/packs/p")["items"]
    assert [w["name"] for w in shown[0]["workflows"]] == ["p2", "p3"]
    assert pages(api, "/packs") == shown
    assert api.call("GET", "/packs/p", (Role.VIEWER, "default")).status_code == 404
    assert api.call("DELETE", "/packs/p", (Role.AUTHOR, "Shop")).get_json()["pack"] == "P"


REFUSED: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "no zip": (lambda: b"PK nothing", "application/zip", "cannot be unpacked"),
    "half a zip": (lambda: zipped(pack_files("p", "p1"))[:-40], "application/zip", "cannot be unpacked"),
    "half a tar": (lambda: tarred(pack_files("p", "p1"))[:60], "application/gzip", "cannot be unpacked"),
    "two packs": (
        lambda: zipped({"a/pack.yaml": "name: a", "b/pack.yaml": "name: b"}), "application/zip", "pack.yaml"
    ),
    "large documents": (
        lambda: zipped({f"workflows/{n}.yaml": " " * (1 << 20) for n in range(5)}), "application/zip", "larger than"
    ),
    "faulty files": (
        lambda: zipped({"pack.yaml": "name: a", "workflows/a.yaml": "name: [", "workflows/b.yaml": "x: 1"}),
        "application/zip",
        "workflows/a.yaml",
    ),
    "a bomb": (lambda: tarred({"x": "y" * (65 << 20)}, "w:gz"), "application/gzip", "holds more than"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_pack_is_refused_with_all_that_is_wrong(api: Api, case: str) -> None:
    body, kind, told = REFUSED[case]
    answer = api.call("POST", "/packs", data=body(), content_type=kind)
    assert (answer.status_code, told in answer.text) == (422, True), answer.text


def test_an_apps_configuration_shows_no_secret_and_keeps_it(api: Api) -> None:
    config = {"url": "u", "db": {"password": "p4ss", "port": 1}, "api_keys": ["k1"], "list": [{"token": "t", "a": 1}]}
    made = api.call("PUT", "/apps/new", json={"config": config, "group": "new ones"})
    assert (made.status_code, made.headers["Location"]) == (201, "/api/v1/apps/new")
    shown = made.get_json()
    assert shown == {
        "name": "new",
        "group": "new ones",
        "config": {
            "url": "u",
            "db": {"password": "***", "port": 1},
            "api_keys": "***",
            "list": [{"token": "***", "a": 1}],
        },
    }
    changed = api.call("PUT", "/apps/new", json={"config": shown["config"] | {"url": "v"}}).get_json()
    assert (changed["config"]["url"], changed["group"]) == ("v", "new ones")
    with api.db.transaction() as conn:
        stored = conn.exec_driver_sql("SELECT config FROM apps WHERE name = 'new'").scalar_one()
    assert stored == config | {"url": "v"}
    assert api.call("PUT", "/apps/new", json={"group": None}).get_json()["group"] is None
    assert [app["name"] for app in pages(api, "/apps")] == ["default", "new", "Shop"]
    assert [app["name"] for app in api.get("/apps", (Role.VIEWER, "Shop"))["items"]] == ["Shop"]
    assert api.call("PUT", "/apps/shop", SHOP, json={"config": {"b": 2}}).get_json()["config"] == {"b": 2}
    assert api.call("PUT", "/apps/default", SHOP, json={"config": {}}).status_code == 404


def test_a_group_is_its_apps(api: Api, runs: dict[str, str]) -> None:
    made = api.call("PUT", "/groups/all", json={"apps": ["Default", "shop"]})
    assert (made.status_code, made.get_json()) == (201, {"name": "all", "apps": ["default", "Shop"]})
    assert api.get("/groups/shops")["apps"] == []
    assert api.get("/groups", (Role.VIEWER, "Shop"))["items"] == [{"name": "all", "apps": ["Shop"]}]
    assert api.call("GET", "/groups/shops", (Role.VIEWER, "Shop")).status_code == 404
    wrong = api.call("PUT", "/groups/all", json={"apps": ["nowhere"]}).get_json()
    assert [error["path"] for error in wrong["errors"]] == ["apps"]
    assert api.get("/groups/all")["apps"] == ["default", "Shop"]
    assert "all" in [group["name"] for group in pages(api, "/groups")]


def test_the_audit_log_is_searched(api: Api, runs: dict[str, str]) -> None:
    api.call("PUT", "/pools/audited", json={"slots": 1, "reason": "for the test"})
    api.call("DELETE", "/pools/audited?reason=over")
    acts = pages(api, "/audit")
    assert [(a["action"], a["target_id"], a["actor"], a["reason"]) for a in acts[:2]] == [
        ("remove_pool", "audited", "api:admin", "over"),
        ("set_pool", "audited", "api:admin", "for the test"),
    ]
    at = acts[0]["at"].replace("+", "%2B")
    for query, count in (
        ("target=audited", 2), ("target=audited&action=set_pool", 1), ("target=audited&actor=nobody", 0),
        ("kind=pool&target=audited", 2), ("kind=run&target=audited", 0), (f"since={at}", 1),
        (f"until={at}&target=audited", 1), (f"bulk_id={runs['Shop']}", 0), (f"run={runs['Shop']}", 0),
    ):  # fmt: skip
        assert len(api.get(f"/audit?{query}")["items"]) == count, query
    assert api.get(f"/audit?run={runs['Shop']}", SHOP)["items"] == []
    assert api.call("GET", f"/audit?run={runs['default']}", SHOP).status_code == 404


def test_an_admin_makes_and_revokes_tokens(api: Api) -> None:
    made = api.post("/tokens", {"name": "ci", "role": "operator", "app": "shop", "expires_in": 60}).get_json()
    api.tokens["ci"] = made["token"]
    assert api.get("/me", "ci") == {"id": made["id"], "name": "ci", "role": "operator", "app": "Shop"}
    listed = {token["name"]: token for token in api.get("/tokens?limit=1000")["items"]}
    assert (listed["ci"]["status"], listed["ci"]["created_by"]) == ("active", "api:admin")
    assert made["token"] not in str(listed)
    assert api.call("PUT", "/tokens/ci/password", json={"password": "correct horse"}).get_json()["password"] is True
    assert api.call("PUT", "/tokens/ci/password", json={"password": "short"}).status_code == 422
    assert api.call("DELETE", "/tokens/CI?reason=lost").status_code == 204
    assert api.call("GET", "/me", "ci").status_code == 401
    assert "revoked" in {token["status"] for token in api.get("/tokens?limit=1000&revoked=true")["items"]}


def test_an_admin_of_one_app_has_tokens_of_that_app_only(api: Api) -> None:
    made = api.post("/tokens", {"name": "own", "role": "admin"}, SHOP).get_json()
    assert made["app"] == "Shop"
    assert {token["app"] for token in api.get("/tokens?limit=1000", SHOP)["items"]} == {"Shop"}
    assert api.call("DELETE", "/tokens/viewer", SHOP).status_code == 404
    assert api.call("PUT", "/tokens/viewer/password", SHOP, json={"password": None}).status_code == 404
    assert api.call("DELETE", "/tokens/own", SHOP).status_code == 204
