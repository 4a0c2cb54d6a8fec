"""Large values through what people use: the API, the command line and pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from orchestrator.cli.main import run as command
from orchestrator.config import Config
from orchestrator.domain.blobs import MARK
from orchestrator.domain.roles import Role
from orchestrator.handle import RunHandle
from orchestrator.services.rerun import rerun
from orchestrator.services.tokens import create_token
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.engine.blobs.shelf import files, hands
from tests.web.conftest import signed_in
from web.app import create_app

SECRET = "4111-1111-1111-1111"
SHOP = document(
    step("rows", input={"count": 60}) | {"function": "rows"},
    step("echo", input={"of": ["{{ input.card }}"] * 200}),
    step("each", "rows", with_items="{{ steps.rows.output }}", input={"n": "{{ item.n }}", "t": "{{ item.text }}"}),
    step("length", "rows", function="length", input={"of": "{{ steps.rows.output }}"}),
    output={"rows": "{{ steps.rows.output }}", "card": "{{ input.card }}", "echo": "{{ steps.echo.output }}"},
    input_schema={"type": "object", "properties": {"card": {"type": "string", "writeOnly": True}}},
)


@pytest.fixture
def settings(
    orchestrator_module_database_url: str, broker_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Config:
    env = {
        "DATABASE_URL": orchestrator_module_database_url,
        "REDIS_URL": broker_url,
        "ORCHESTRATOR_BLOB_URL": tmp_path.as_uri(),
        "ORCHESTRATOR_BLOB_OVER": "1000",
        "ORCHESTRATOR_MAX_OUTPUT_BYTES": "5000",
        "ORCHESTRATOR_BLOB_MAX": "200000",
    }
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return Config.from_env()


@pytest.fixture
def worker(module_db: Database, tmp_path: Path) -> Hands:
    with module_db.transaction() as conn:
        conn.exec_driver_sql("DELETE FROM workflow_runs")  # of other stores
    return hands(module_db, tmp_path)


@pytest.fixture
def shop(worker: Hands) -> str:
    """A run that has ended, whose rows and output lie in the store."""
    run_id = worker.start(SHOP, {"card": SECRET})
    worker.work()
    assert worker.status(run_id) == "succeeded", worker.steps(run_id)
    return run_id


def test_one_run_and_step_have_values_lists_have_references(
    settings: Config, shop: str, worker: Hands, tmp_path: Path
) -> None:
    client = create_app(settings).test_client()
    token = create_token(worker.db, "t", Role.VIEWER).token

    def get(path: str) -> Any:
        answer = client.get(f"/api/v1{path}", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200, answer.text
        assert SECRET not in answer.text
        return answer.get_json()

    whole = get(f"/runs/{shop}")["output"]
    assert (len(whole["rows"]), whole["card"], whole["echo"]["of"][0]) == (60, "***", "***")
    assert get(f"/runs/{shop}?references=true")["output"]["rows"]["bytes"] > 1000
    assert len(get(f"/runs/{shop}/steps/each")["output"]) == 60
    assert len(get(f"/runs/{shop}/steps/length")["input"]["of"]) == 60
    assert MARK in get(f"/runs/{shop}/steps/each?references=1")["output"]
    listed = {one["name"]: one["output"] for one in get(f"/runs/{shop}/steps")["items"]}
    assert MARK in listed["rows"]
    assert listed["length"] == 60
    assert MARK in json.dumps(get("/runs")["items"][0]["output"])
    for path in files(tmp_path):
        path.unlink()
    client = create_app(settings).test_client()  # one that keeps none of the values it has read
    problem = get(f"/runs/{shop}")["output"]["rows"]["problem"]
    assert "not in the store" in problem


def test_pages_tell_what_it_is_and_give_it_to_download(settings: Config, shop: str, module_db: Database) -> None:
    client: FlaskClient = signed_in(create_app(settings).test_client(), module_db)
    page = client.get(f"/runs/{shop}/data").text
    assert "KiB in the blob store: a list of 60" in page
    assert f"/runs/{shop}/output.json" in page
    assert "y" * 100 not in page
    given = client.get(f"/runs/{shop}/output.json")
    assert given.headers["Content-Disposition"].startswith("attachment")
    assert SECRET not in given.text
    assert len(json.loads(given.text)["rows"]) == 60
    step_page = client.get(f"/runs/{shop}/step/0").text
    assert "in the blob store: a list of 60" in step_page
    assert len(json.loads(client.get(f"/runs/{shop}/step/0/output.json").text)) == 60
    assert client.get(f"/runs/{shop}/step/0/secrets.json").status_code == 404
    assert client.get(f"/runs/{shop}/step/99/output.json").status_code == 404


def test_a_rerun_that_gave_the_same_does_not_differ(
    settings: Config, shop: str, worker: Hands, module_db: Database
) -> None:
    again = rerun(worker.engine, shop).run_id
    worker.work()
    client = signed_in(create_app(settings).test_client(), module_db, Role.AUTHOR)
    page = client.get(f"/runs/{shop}/compare?other={again}")
    assert page.status_code == 200
    assert "No difference" in page.text


def test_the_command_line_shows_it_when_asked(
    settings: Config, shop: str, worker: Hands, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert command(list(words)) == code
        return capsys.readouterr().out

    short = said("show", shop, "--step", "rows")
    assert "KiB in the blob store: a list of 60; --full shows it" in short
    assert "y" * 100 not in short
    assert "y" * 100 in said("show", shop, "--step", "rows", "--full")
    assert "in the blob store" in said("show", shop)
    assert MARK in json.loads(said("show", shop, "--json"))["run"]["output"]["rows"]
    full = json.loads(said("show", shop, "--json", "--full"))["run"]["output"]
    assert (len(full["rows"]), full["card"]) == (60, "***")
    assert said("blobs", "check") == "every value is there\n"
    assert said("blobs", "clean").startswith("0 blobs removed")
    assert RunHandle(worker.engine, shop).output["card"] == SECRET
    gone = files(tmp_path)[0]
    gone.unlink()
    assert gone.name in said("blobs", "check", code=1)
    assert gone.name in said("db", "check", "--blobs", "--patience", "0", code=1)
    with worker.db.transaction() as conn:
        conn.exec_driver_sql("DELETE FROM workflow_runs")
    dry = json.loads(said("blobs", "clean", "--older-than", "0", "--dry-run", "--json"))
    assert (dry["removed"], dry["count"] > 0) == (False, True)
    assert f"{dry['count']} blobs removed" in said("blobs", "clean", "--older-than", "0")
    assert files(tmp_path) == []
