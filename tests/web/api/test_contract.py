"""Every documented answer is given, to those who may have it, and of their app only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from orchestrator.config import Config
from orchestrator.domain.roles import Role
from orchestrator.errors import Unreachable
from orchestrator.functions import make_workflow
from orchestrator.ids import new_id
from orchestrator.services.register_code import register_code
from tests.documents import document, step
from tests.web.api.checked import Checked
from tests.web.api.conftest import Api
from tests.web.api.operating import ELSEWHERE, NOUNS
from web.app import create_app
from web.errors import TooManyRequests

PREFIX = "/api/v1"
FORM = {"approval": {"title": "Yes?"}}


@dataclass
class Sample:
    """How to ask a route so that it answers well, and so that it refuses with 409. Steps in paths are called `a`."""

    body: Any = None
    query: str = ""
    conflict: Callable[[Api], tuple[str, Any]] | None = None
    run: Callable[[Api], str] | None = None
    again: bool = False  # asked again it answers 200 in place of 201
    raw: dict[str, Any] = field(default_factory=dict)


def started(api: Api, app: str = "default") -> str:
    return api.start("plain", app=app)


def failed(api: Api, app: str = "default") -> str:
    run_id = api.start("failing", app=app)
    api.work()
    return run_id


def fanned(api: Api, app: str = "default") -> str:
    run_id = api.start("fanned", app=app)
    api.work()
    return run_id


def held(api: Api, app: str = "default") -> str:
    run_id = started(api, app)
    api.post(f"/runs/{run_id}/hold", {"step": "a"})
    return run_id


def paused(api: Api, app: str = "default") -> str:
    run_id = started(api, app)
    api.post(f"/runs/{run_id}/pause")
    return run_id


def over(api: Api, app: str = "default") -> str:
    run_id = started(api, app)
    api.work()
    return run_id


def coded(api: Api, app: str = "default") -> str:
    """A run of a function, which has done the step `a` itself."""
    engine, spec = api.hands.engine, make_workflow(lambda ctx, input: ctx.step("a", int), "coded")
    engine.functions.workflows.put(spec)
    register_code(engine, spec, app=app)
    run_id = api.start("coded", app=app)
    api.work()
    return run_id


def asking(workflow: str) -> Callable[..., str]:
    def begin(api: Api, app: str = "default") -> str:
        run_id = api.start(workflow, app=app)
        api.work()
        return run_id

    return begin


def of_run(begin: Callable[..., str], path: str, body: Any = None) -> Callable[[Api], tuple[str, Any]]:
    return lambda api: (f"/runs/{begin(api)}{path}", body)


def limited(api: Api) -> tuple[str, Any]:
    api.register(name="limited", max_active_runs=1, on_limit="reject")
    api.post("/runs", {"workflow": "limited"})
    return "/runs", {"workflow": "limited"}


def decided(verb: str) -> Callable[[Api], tuple[str, Any]]:
    def ask(api: Api) -> tuple[str, Any]:
        path = f"/runs/{asking('asking')(api)}/steps/a/{verb}"
        api.post(path)
        return path, None

    return ask


def active(api: Api) -> tuple[str, Any]:
    """A workflow with an active run is deleted by force only."""
    started(api)
    return "/workflows/plain", None


def of_pack(api: Api) -> tuple[str, Any]:
    """A workflow of a pack is changed by force only."""
    with api.db.transaction() as conn:
        conn.exec_driver_sql(
            "WITH p AS (INSERT INTO packs (id, name, name_key, app_id) SELECT gen_random_uuid(), 'p', 'p', app_id"
            " FROM workflows WHERE name = 'packed' RETURNING id) UPDATE workflows SET pack_id = p.id FROM p"
            " WHERE name = 'packed'"
        )
    return "/workflows", document(step("b"), name="packed")


RUN = "/runs/{run_id}"
START = {"workflow": "plain"}
FILTER = {"workflow": "plain", "tag": ["nobody has it"]}
SAMPLES: dict[tuple[str, str], Sample] = {
    ("GET", "/workflows"): Sample(),
    ("POST", "/workflows"): Sample(body=document(step("a"), name="new one"), conflict=of_pack, again=True),
    ("POST", "/workflows/validate"): Sample(body=document(step("a"))),
    ("GET", "/workflows/{name}"): Sample(),
    ("DELETE", "/workflows/{name}"): Sample(query="?force=true", conflict=active),
    ("GET", "/schema"): Sample(),
    ("GET", "/workflows/{name}/revisions"): Sample(),
    ("GET", "/workflows/{name}/revisions/{number}"): Sample(),
    ("GET", "/workflows/{name}/revisions/{number}/difference"): Sample(query="?to=1"),
    ("GET", "/workflows/{name}/runs"): Sample(),
    ("POST", "/workflows/{name}/runs"): Sample(
        body={"idempotency_key": "c1"}, again=True, conflict=lambda api: (limited(api)[0], limited(api)[1])
    ),
    ("GET", "/runs"): Sample(),
    ("POST", "/runs"): Sample(body=START | {"idempotency_key": "c2"}, again=True, conflict=limited),
    ("POST", "/runs/batch"): Sample(
        body=START | {"inputs": [1]},
        conflict=lambda api: ("/runs/batch", {"workflow": limited(api)[1]["workflow"], "inputs": [1]}),
    ),
    ("POST", "/runs/bulk"): Sample(
        body={"verb": "pause", "filters": FILTER},
        conflict=lambda api: ("/runs/bulk", {"verb": "pause", "filters": FILTER, "count": 7}),
    ),
    ("GET", RUN): Sample(),
    ("DELETE", RUN): Sample(run=over, conflict=of_run(started, "")),
    ("GET", f"{RUN}/steps"): Sample(),
    ("GET", f"{RUN}/steps/{{step}}"): Sample(run=coded),
    ("GET", f"{RUN}/steps/{{step}}/items"): Sample(),
    ("GET", f"{RUN}/steps/{{step}}/items/{{index}}"): Sample(run=fanned),
    ("GET", f"{RUN}/steps/{{step}}/attempts"): Sample(),
    ("GET", f"{RUN}/steps/{{step}}/why"): Sample(),
    ("GET", f"{RUN}/events"): Sample(),
    ("GET", f"{RUN}/logs"): Sample(),
    ("GET", f"{RUN}/journal"): Sample(run=coded),
    ("GET", f"{RUN}/children"): Sample(),
    ("GET", f"{RUN}/graph"): Sample(),
    ("GET", f"{RUN}/stream"): Sample(run=over),
    ("POST", f"{RUN}/cancel"): Sample(body={}, conflict=of_run(over, "/cancel")),
    ("POST", f"{RUN}/pause"): Sample(body={}, conflict=of_run(over, "/pause")),
    ("POST", f"{RUN}/resume"): Sample(body={}, run=paused, conflict=of_run(started, "/resume")),
    ("POST", f"{RUN}/retry"): Sample(body={}, run=failed, conflict=of_run(over, "/retry")),
    ("POST", f"{RUN}/rerun"): Sample(body={}, conflict=of_run(started, "/rerun", {"from_steps": ["a"]})),
    ("POST", f"{RUN}/mark"): Sample(
        body={"step": "a", "status": "skipped"},
        run=failed,
        conflict=of_run(over, "/mark", {"step": "a", "status": "skipped"}),
    ),
    ("POST", f"{RUN}/hold"): Sample(body={"step": "a"}, conflict=of_run(held, "/hold", {"step": "a"})),
    ("POST", f"{RUN}/release"): Sample(
        body={"step": "a"}, run=held, conflict=of_run(started, "/release", {"step": "a"})
    ),
    ("POST", f"{RUN}/signal/{{name}}"): Sample(
        body={}, run=asking("waiting"), conflict=of_run(over, "/signal/plain", {})
    ),
    ("GET", "/approvals"): Sample(),
    ("POST", f"{RUN}/steps/{{step}}/approve"): Sample(body={}, run=asking("asking"), conflict=decided("approve")),
    ("POST", f"{RUN}/steps/{{step}}/reject"): Sample(body={}, run=asking("asking"), conflict=decided("reject")),
}
BODIES = {key for key, sample in SAMPLES.items() if sample.body is not None}
# What is found by an `app`, and is 404 for an app that is not there.
BY_APP = {("GET", "/workflows"), ("GET", "/runs"), ("GET", "/approvals"), ("POST", "/workflows/validate")}


@pytest.fixture(scope="module")
def ready(api: Api) -> Api:
    """The workflows the samples speak of, in both apps."""
    for app in ("default", "Shop"):
        api.register(step("a"), name="plain", app=app)
        api.register(step("a", function="fail"), name="failing", app=app)
        api.register(step("a", with_items="{{ [1] }}"), name="fanned", app=app)
        api.register({"name": "a", "wait_for": {"event": "plain"}}, name="waiting", app=app)
        api.register({"name": "a", "wait_for": FORM}, name="asking", app=app)
    api.register(name="packed")
    return api


def operations(api: Api) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for method, path, operation in api.checked.operations():
        if operation["tags"][0] not in (*NOUNS, *ELSEWHERE):  # whose contracts are in other files
            yield method, path.removeprefix(PREFIX), operation


def address(api: Api, method: str, rule: str, run_id: str | None = None) -> str:
    """The route's address for something that is there; for a run made for it, unless one is given."""
    sample = SAMPLES[method, rule]
    if run_id is None:
        run_id = (sample.run or started)(api) if "{run_id}" in rule else ""
    names = {"run_id": run_id, "step": "a", "name": "plain", "number": "1", "index": "0"}
    return rule.format(**names) + sample.query


def ask(api: Api, method: str, rule: str, where: str, who: Any, **given: Any) -> Any:
    sample = SAMPLES[method, rule]
    body = {"json": sample.body} if sample.body is not None and "data" not in given else {}
    return api.call(method, where, who, **body, **given)


def test_every_route_has_a_sample(ready: Api) -> None:
    assert {(method, rule) for method, rule, _ in operations(ready)} == set(SAMPLES)


def test_every_documented_answer_is_given_as_documented(ready: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ready.checked.seen.clear()
    for method, rule, operation in operations(ready):
        role = Role(operation["x-role"])
        where = address(ready, method, rule)
        _refuse(ready, method, rule, where, role)
        where = address(ready, method, rule)  # the other run may be over
        answers = [ask(ready, method, rule, where, role)]
        if SAMPLES[method, rule].again:
            answers.append(ask(ready, method, rule, where, role))
        assert all(answer.status_code < 300 for answer in answers), (method, rule, answers[0].text)
        if method == "DELETE":
            ready.register(step("a"), name="plain")
    _follow_again(ready)
    _fail(ready, monkeypatch)
    documented = {
        (method, PREFIX + rule, int(status))
        for method, rule, operation in operations(ready)
        for status in operation["responses"]
    }
    assert documented - ready.checked.seen == set()


def _refuse(api: Api, method: str, rule: str, where: str, role: Role) -> None:
    """401, 403, 404, 409, 422, and what a body may be refused for."""
    joined = f"{where}{'&' if '?' in where else '?'}"
    assert ask(api, method, rule, where, None).status_code == 401
    assert ask(api, method, rule, f"{joined}nonsense=1", role).status_code == 422
    for lower in [each for each in Role if each < role]:
        assert ask(api, method, rule, where, lower).status_code == 403
    if (method, rule) in BY_APP or (method, rule) == ("POST", "/workflows"):
        ask(api, method, rule, f"{joined}app=nowhere", (role, "Shop"))
    _refuse_names(api, method, rule, role)
    conflict = SAMPLES[method, rule].conflict
    if conflict is not None:
        path, body = conflict(api)
        path = "/workflows/limited/runs" if rule == "/workflows/{name}/runs" else path
        body = {} if rule == "/workflows/{name}/runs" else body
        answer = api.call(method, path, role, **({"json": body} if body is not None else {}))
        assert answer.status_code == 409, (method, rule, answer.text)
    if (method, rule) in BODIES:
        ask(api, method, rule, where, role, data=b"{", content_type="application/json")
        assert ask(api, method, rule, where, role, data=b"a=1", content_type="text/csv").status_code == 415
        large = b" " * (5 << 20)
        assert ask(api, method, rule, where, role, data=large, content_type="application/json").status_code == 413


def _refuse_names(api: Api, method: str, rule: str, role: Role) -> None:
    """404 for what is not there."""
    names = {"run_id": new_id(), "step": "nope", "name": "nope", "number": "9", "index": "0"}
    body = SAMPLES[method, rule].body
    if "{" in rule:
        answer = ask(api, method, rule, rule.format(**names) + SAMPLES[method, rule].query, role)
        assert answer.status_code == 404, (method, rule, answer.text)
    elif isinstance(body, dict) and "workflow" in body:
        assert api.call(method, rule, role, json=body | {"workflow": "nope"}).status_code == 404
    elif rule == "/runs/bulk":
        assert api.call(method, rule, role, json=body | {"filters": {"workflow": "nope"}}).status_code == 404


def _follow_again(api: Api) -> None:
    """A stream that was told to its end has nothing to tell."""
    run_id = over(api)
    told = api.call("GET", f"/runs/{run_id}/stream").text
    last = [line.removeprefix("id: ") for line in told.splitlines() if line.startswith("id: ")][-1]
    assert api.call("GET", f"/runs/{run_id}/stream", headers={"Last-Event-ID": last}).status_code == 204


class Broken:
    """Rates that fail in one way."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def take(self, token_id: str) -> None:
        raise self.error


def _fail(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """429, 500 and 503, whatever the route."""
    for rates, status in (
        (Broken(TooManyRequests("slow down", retry_after=1)), 429),
        (Broken(RuntimeError("boom")), 500),
        (Broken(Unreachable("away")), 503),
    ):
        monkeypatch.setitem(api.checked.app.extensions, "orchestrator.rates", rates)
        statuses = []
        for method, rule, _ in operations(api):
            names = {"run_id": new_id(), "step": "a", "name": "plain", "number": "1", "index": "0"}
            statuses.append(ask(api, method, rule, rule.format(**names) + SAMPLES[method, rule].query, Role.ADMIN))
        assert {answer.status_code for answer in statuses} == {status}
    monkeypatch.undo()


@pytest.mark.parametrize("app", ["default", "Shop"])
def test_each_role_may_what_the_document_says_and_in_its_app_only(ready: Api, app: str) -> None:
    """Each route as each role of one app, on what is of `default`: what is of others is not there."""
    there = fanned(ready)
    for method, rule, operation in operations(ready):
        needed = Role(operation["x-role"])
        for role in Role:
            acts = role >= needed and app != "Shop" and method != "GET"
            where = address(ready, method, rule, run_id=None if acts else there)
            answer = ask(ready, method, rule, where, (role, app))
            assert answer.status_code == _expected(method, rule, role >= needed, app), (method, rule, role, app)
            if answer.status_code == 204:
                ready.register(step("a"), name="plain")
                ready.register(step("a"), name="plain", app="Shop")


def _expected(method: str, rule: str, may: bool, app: str) -> Any:
    if not may:
        return 403
    if app == "Shop" and "{run_id}" in rule:
        return 404
    return _OneOf(200, 201, 204)


class _OneOf:
    """Equal to any of these."""

    def __init__(self, *values: int) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        return other in self.values

    def __hash__(self) -> int:
        return hash(self.values)


def test_a_token_of_one_app_finds_names_and_starts_in_that_app_alone(ready: Api) -> None:
    shop = (Role.ADMIN, "Shop")
    ready.register(name="only default")
    ready.start("only default")
    own = ready.start("plain", app="Shop")
    assert {run["app"] for run in ready.get("/runs?limit=1000", shop)["items"]} == {"Shop"}
    assert {w["owner"]["name"] for w in ready.get("/workflows?limit=1000", shop)["items"]} == {"Shop"}
    assert ready.call("GET", "/workflows/only%20default", shop).status_code == 404
    assert ready.call("GET", "/workflows/only%20default/runs", shop).get_json()["items"] == []
    assert ready.post("/runs", {"workflow": "only default"}, shop).status_code == 404
    assert ready.post("/runs", {"workflow": "plain", "app": "default"}, shop).status_code == 404
    assert ready.post("/runs", {"workflow": "plain"}, shop).get_json()["app"] == "Shop"
    assert ready.call("GET", "/runs?app=default", shop).status_code == 404
    assert ready.get(f"/runs/{own}", shop)["app"] == "Shop"
    assert ready.call("DELETE", "/workflows/only%20default?force=true", shop).status_code == 404
    bulk = {"verb": "pause", "filters": {"workflow": "plain"}, "preview": True}
    assert {run["app"] for run in ready.post("/runs/bulk", bulk, shop).get_json()["first"]} == {"Shop"}
    asking("asking")(ready)
    assert ready.get("/approvals?limit=1000", (Role.VIEWER, "Shop"))["items"] == [
        one for one in ready.get("/approvals?limit=1000")["items"] if one["app"] == "Shop"
    ]


def test_the_document_tells_its_version_its_tokens_and_a_title_for_each_route(
    orchestrator_module_database_url: str,
) -> None:
    app = create_app(Config(database_url=orchestrator_module_database_url))
    checked = Checked(app)
    assert (checked.document["openapi"], checked.document["security"]) == ("3.1.0", [{"token": []}])
    assert all(operation["summary"] for _, _, operation in checked.operations())
