"""The log of real processes as JSON: every line parses, and says whose it is."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.config import Config
from orchestrator.up.commands import web_command
from tests.integration.workers.fleet import Fleet
from tests.processes import unused_port
from tests.support import wait_for

SECRET = 'pl4nted "quoted" secret'
JSON = {"LOG_FORMAT": "json", "SECRET_WORD": SECRET}


def lines_of(said: str) -> list[dict[str, Any]]:
    """Every line, in the form all of them have."""
    lines = [json.loads(line) for line in said.splitlines()]
    for line in lines:
        assert {"time", "level", "logger", "event", "pid"} <= set(line)
        assert line["time"].endswith("+00:00")
    return lines


def of(lines: list[dict[str, Any]], word: str) -> dict[str, dict[str, Any]]:
    """What an attempt of `t.tell` said, by its first word."""
    return {
        line["event"].split()[0]: line
        for line in lines
        if line.get("order", line["event"].split()[-1]) == word or line.get("word") == word
    }


def begun(fleet: Fleet, steps: int) -> bool:
    return len(fleet.rows("SELECT FROM workflow_run_steps WHERE status = 'running'")) == steps


def tell(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "function": "t.tell", "input": {"word": name, **more}}


def test_a_workers_lines_name_their_attempt_whoever_writes_them(fleet: Fleet) -> None:
    worker = fleet.worker(**JSON)
    slow = [tell("one", file=fleet.flag("go")), tell("two", file=fleet.flag("go"))]
    run_id = fleet.start(slow)
    wait_for(lambda: begun(fleet, 2))
    fleet.raise_flag("go")
    fleet.ended(run_id)
    items = {
        "name": "each",
        "function": "t.tell",
        "with_items": "{{ range(12) | list }}",
        "input": {"word": "w{{ item }}"},
    }
    short = fleet.start(
        [
            items,
            {"name": "after", "function": "t.tell", "input": {"word": "{{ secrets.word }}"}, "depends_on": ["each"]},
        ]
    )
    fleet.ended(short)
    assert worker.stop() == 0
    lines = lines_of(worker.said())
    assert SECRET not in worker.said()
    assert json.dumps(SECRET)[1:-1] not in worker.said()
    told = ("printed", "begun", "logged", "told", "thread", "late")
    workers = {row.id for row in fleet.rows("SELECT CAST(id AS text) AS id FROM workers")}
    for name in ("one", "two"):
        said = of(lines, name)
        assert set(said) == set(told)
        for line in said.values():
            where = {key: line[key] for key in ("app", "run_id", "step", "attempt")}
            assert where == {"app": "default", "run_id": run_id, "step": name, "attempt": 1}
            assert line["workflow"].startswith("w-")
            assert line["worker"] in workers
        assert (said["logged"]["odd"], said["late"]["bound"]) == ("{1, 2}", name)
        assert (said["printed"]["logger"], said["logged"]["level"]) == ("stdout", "WARNING")
    assert of(lines, "one")["late"]["pid"] != of(lines, "two")["late"]["pid"]
    for number in range(12):
        said = of(lines, f"w{number}")
        assert {line["item"] for line in said.values()} == {number}
        assert {line["run_id"] for line in said.values()} == {short}
        assert "bound" not in said["logged"], "what an attempt has bound is not for the next"
    hidden = [line for line in lines if line.get("step") == "after"]
    assert {line["event"] for line in hidden} >= {"printed ***", "begun ***", "logged ***", "late ***"}
    assert [line["event"] for line in lines if line["logger"].startswith("celery")]
    stored = fleet.rows("SELECT message FROM step_logs WHERE run_id = :run ORDER BY id", run=run_id)
    assert {"printed one", "begun one", "shop: logged one", "shop: told word=one"} <= {row.message for row in stored}


def test_threads_of_a_pool_each_name_their_own_attempt(fleet: Fleet) -> None:
    worker = fleet.worker("threads", concurrency=4, **JSON)
    names = [f"s{number}" for number in range(4)]
    run_id = fleet.start([tell(name, file=fleet.flag("go")) for name in names])
    wait_for(lambda: begun(fleet, 4))
    fleet.raise_flag("go")
    fleet.ended(run_id)
    worker.stop()
    lines = lines_of(worker.said())
    for name in names:
        assert {line["step"] for word, line in of(lines, name).items() if word != "thread"} == {name}
        assert "step" not in of(lines, name)["thread"], "a thread that a step starts in a pool of threads is nobody's"


def test_text_lines_end_with_what_they_are_about(fleet: Fleet) -> None:
    worker = fleet.worker(LOG_FORMAT="text")
    run_id = fleet.start([tell("one")])
    fleet.ended(run_id)
    (line,) = [line for line in worker.said().splitlines() if "logged one" in line]
    assert line.endswith(f" shop: logged one [run={run_id} step=one attempt=1 order=one odd={{1, 2}}]")


def test_a_beats_lines_are_json_name_the_run_and_hide_secrets(fleet: Fleet) -> None:
    beat = fleet.beat(**JSON, SECRET_PHRASE="the next tick")
    run_id = fleet.start([{"name": "a", "function": "t.add", "input": {"a": 1}}], timeout=600)
    with fleet.engine.db.transaction() as conn:
        conn.execute(text("SELECT FROM workflow_run_steps WHERE run_id = :run FOR UPDATE"), {"run": run_id})
        fleet.rows("UPDATE workflow_runs SET deadline_at = now() WHERE id = :run RETURNING id", run=run_id)
        wait_for(lambda: "is left to" in beat.said())
    assert beat.stop() == 0
    (left, *_) = [line for line in lines_of(beat.said()) if "is left to ***:" in line["event"]]
    assert (left["run_id"], left["level"], left["logger"]) == (run_id, "WARNING", "orchestrator.services.coordinate")


@pytest.fixture
def web(fleet: Fleet, tmp_path: Path) -> Any:
    port, log = unused_port(), tmp_path / "web.log"
    own = {f"ORCHESTRATOR_{name}": value for name, value in JSON.items()} | {"ORCHESTRATOR_ACCESS_LOG": "true"}
    env: Mapping[str, str] = {**os.environ, **fleet.environment, **own, "SECRET_KEY": "x" * 32}
    config = Config.from_env({**env, "PORT": str(port)})
    with log.open("wb") as output:
        process = subprocess.Popen(web_command(config, host="127.0.0.1"), env=env, stdout=output, stderr=output)
    yield port, process, log
    process.kill()
    process.wait()


def test_a_web_processes_lines_are_json_those_of_requests_too(web: Any) -> None:
    port, process, log = web
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}/healthz?token={SECRET[:7]}", headers={"X-Request-Id": "mine"}
    )
    wait_for(lambda: "Listening" in log.read_text(), 100)
    with urllib.request.urlopen(asked) as answer:
        assert answer.status == 200
    process.terminate()
    assert process.wait(60) == 0
    lines = lines_of(log.read_text())
    (access,) = [line for line in lines if line["logger"] == "gunicorn.access"]
    told = {name: access[name] for name in ("event", "method", "path", "status", "client", "request_id")}
    assert told == {
        "event": "GET '/healthz' 200", "method": "GET", "path": "/healthz", "status": 200, "client": "127.0.0.1",
        "request_id": "mine",
    }  # fmt: skip
    assert access["seconds"] > 0
    assert SECRET[:7] not in log.read_text()
    assert [line for line in lines if line["logger"] == "gunicorn.error"]
