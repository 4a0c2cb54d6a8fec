"""A token of one app sees and does nothing of another; a viewer does nothing at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from orchestrator.config import Config
from orchestrator.domain.roles import Role
from orchestrator.services.alert_rules import delete_rule, set_rule
from orchestrator.services.apps import set_app
from orchestrator.services.schedules import create_schedule, delete_schedule
from orchestrator.services.seal import Seal
from orchestrator.store.db import Database
from tests.web.conftest import signed_in
from tests.web.stage import ORDER, Stage
from web.app import create_app


@pytest.fixture(scope="module")
def app(orchestrator_module_database_url: str) -> Iterator[Flask]:
    app = create_app(Config(database_url=orchestrator_module_database_url, secret_key="k" * 32))
    yield app
    app.extensions["orchestrator.database"].close()


@pytest.fixture(scope="module")
def stranger(app: Flask, stage: Stage, module_db: Database) -> FlaskClient:
    """An admin of another app."""
    set_app(module_db, "elsewhere", actor="test")
    return signed_in(app.test_client(), module_db, Role.ADMIN, "elsewhere")


def _of_runs(app: Flask, method: str) -> list[Rule]:
    rules = [rule for rule in app.url_map.iter_rules() if "<run_id>" in rule.rule and method in (rule.methods or ())]
    return [rule for rule in rules if not rule.rule.startswith("/api/")]


def _path(rule: Rule, run_id: str) -> str:
    return rule.rule.replace("<run_id>", run_id).replace("<int:position>", "1").replace("<verb>", "cancel")


def _csrf(client: FlaskClient) -> dict[str, str]:
    with client.session_transaction() as session:
        return {"X-CSRF-Token": str(session["csrf_token"])}


def test_no_page_of_a_run_is_open_to_another_app(app: Flask, stranger: FlaskClient, stage: Stage) -> None:
    rules = _of_runs(app, "GET")
    assert len(rules) > 10
    assert {(rule.rule, stranger.get(_path(rule, stage.failed)).status_code) for rule in rules} == {
        (rule.rule, 404) for rule in rules
    }


def test_nothing_is_done_to_a_run_of_another_app(app: Flask, stranger: FlaskClient, stage: Stage) -> None:
    rules = _of_runs(app, "POST")
    assert rules
    for rule in rules:
        assert stranger.post(_path(rule, stage.waiting), headers=_csrf(stranger)).status_code == 404
    given = {"verb": "cancel", "run": stage.waiting, "after": "ffffffff-ffff-7fff-bfff-ffffffffffff"}
    assert "0 done" in stranger.post("/runs/bulk", data=given, headers=_csrf(stranger)).text
    assert stage.hands.status(stage.waiting) == "running"


def test_lists_hold_the_runs_of_the_own_app_only(stranger: FlaskClient, stage: Stage) -> None:
    for path in ("/runs", f"/runs?workflow={ORDER['name'].replace('#', '%23').replace('%', '%25', 1)}", "/runs?tag=eu"):
        answer = stranger.get(path)
        assert answer.status_code == 200
        assert stage.failed not in answer.text
    assert stranger.get("/runs?app=default").status_code == 403
    while "Counting older" in (answer := stranger.get("/runs/over-time")).text:
        assert "no runs" in answer.text
    assert "No runs in this time" in answer.text
    assert stage.failed not in stranger.get(f"/runs/search?q={stage.failed[-8:]}", follow_redirects=True).text


def test_a_viewer_does_nothing_whatever_is_sent(app: Flask, stage: Stage, module_db: Database) -> None:
    viewer = signed_in(app.test_client(), module_db, Role.VIEWER)
    rules = [rule for rule in app.url_map.iter_rules() if "POST" in (rule.methods or ())]
    pages = [rule for rule in rules if not rule.rule.startswith("/api/") and (rule.endpoint.split(".")[0] != "session")]
    assert pages
    for rule in pages:
        assert viewer.post(_path(rule, stage.waiting), headers=_csrf(viewer)).status_code == 403, rule.rule
    assert stage.hands.status(stage.waiting) == "running"


def test_alerts_of_another_app_and_of_all_are_not_there(stranger: FlaskClient, stage: Stage) -> None:
    given = {"kinds": ["run_failed"], "emails": ["a@x.example"]}
    for name, app in (("ours alone", "default"), ("about all", "*")):
        id = set_rule(stage.hands.engine, Seal(None), name, given, app=app).id
        assert name not in stranger.get("/alerts").text
        for path in (f"/alerts/rule?id={id}", f"/alerts/act?id={id}&verb=test", f"/alerts/delete?id={id}"):
            assert stranger.get(path).status_code == 404
        for path in (f"/alerts/act?id={id}&verb=pause", f"/alerts/delete?id={id}", f"/alerts/edit?id={id}"):
            assert stranger.post(path, headers=_csrf(stranger)).status_code == 404
        delete_rule(stage.hands.engine, id)


def test_schedules_of_another_app_are_not_there(stranger: FlaskClient, stage: Stage) -> None:
    engine = stage.hands.engine
    id = create_schedule(engine, "ours alone", {"workflow": ORDER["name"], "cron": "0 1 * * *", "input": {"amount": 1}})
    assert "ours alone" not in stranger.get("/schedules").text
    assert stranger.get(f"/schedules/schedule?id={id}").status_code == 404
    for path in (f"/schedules/act?id={id}&verb=fire", f"/schedules/delete?id={id}", f"/schedules/backfill?id={id}"):
        assert stranger.get(path).status_code == 404, path
        assert stranger.post(path, headers=_csrf(stranger)).status_code == 404, path
    assert stranger.post(f"/schedules/edit?id={id}", headers=_csrf(stranger)).status_code == 404
    delete_schedule(engine, id)


def test_only_an_administrator_deletes_runs(app: Flask, stage: Stage, module_db: Database) -> None:
    begin = "ffffffff-ffff-7fff-bfff-ffffffffffff"
    operator = signed_in(app.test_client(), module_db, Role.OPERATOR)
    given = {"verb": "delete", "run": stage.failed, "after": begin}
    assert operator.get(f"/runs/bulk?verb=delete&run={stage.failed}").status_code == 403
    assert operator.post("/runs/bulk", data=given, headers=_csrf(operator)).status_code == 403
    assert "verb=delete" not in operator.get("/runs").text
    admin = signed_in(app.test_client(), module_db, Role.ADMIN)
    assert "verb=delete" in admin.get("/runs").text
    shown = admin.get(f"/runs/bulk?verb=delete&run={stage.failed}").text
    assert "Nothing brings them back" in shown
    waiting = admin.post("/runs/bulk", data=given | {"run": stage.waiting}, headers=_csrf(admin))
    assert "0 done" in waiting.text
    assert "1 done" in admin.post("/runs/bulk", data=given, headers=_csrf(admin)).text
    assert admin.get(f"/runs/{stage.failed}").status_code == 404
