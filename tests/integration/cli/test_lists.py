"""What is registered, what people did, and what needs which server."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.documents import document, step
from tests.hands import Hands
from tests.integration.cli.conftest import Cli


@pytest.fixture
def order(tmp_path: Path) -> Path:
    path = tmp_path / "order.json"
    path.write_text(json.dumps(document(step("charge"), step("ship", "charge"), name="order")))
    return path


def test_a_registered_workflow_is_drawn_by_its_name(cli: Cli, order: Path) -> None:
    drawn = cli("graph", order).out
    cli("register", order)
    assert cli("graph", "order").out == drawn
    assert cli("graph", "ORDER", "--app", "default").out == drawn


def test_workflows_are_listed_by_name_page_by_page(cli: Cli, tmp_path: Path) -> None:
    said = cli("workflows")
    assert (said.code, said.out) == (0, "")
    assert "orchestrator register FILE" in said.err
    for name in ("zip", "order"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(document(step("a"), name=name, label=f"The {name}")))
        cli("register", path, "--app", "shop")
    assert cli("workflows").out.splitlines()[1].split("  ")[0] == "order"
    assert "app shop" in cli("workflows").out
    assert "The zip" in cli("workflows").out
    first = cli("workflows", "--json", "--limit", "1").json
    second = cli("workflows", "--json", "--limit", "1", "--after", first["next"]).json
    assert [item["name"] for item in first["items"] + second["items"]] == ["order", "zip"]
    assert f"--after {first['next']}" in cli("workflows", "--limit", "1").err
    assert cli("workflows", "--app", "none").code == 3


def test_what_sends_no_step_needs_no_broker(
    cli: Cli, order: Path, hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REDIS_URL")
    assert cli("register", order).code == 0
    hands.start(document(step("a"), name="other"))
    assert cli("pause", "latest").code == 0
    assert cli("resume", "latest").code == 4


def test_an_app_is_shown_by_its_name_and_made_only_by_a_change(cli: Cli) -> None:
    assert cli("apps", "shop").code == 3
    assert cli("apps", "--json").json == {"items": []}
    cli("apps", "shop", "--config", '{"currency": "EUR"}')
    cli("apps", "other", "--group", "all")
    assert [app["name"] for app in cli("apps", "--json").json["items"]] == ["other", "shop"]
    assert cli("apps", "SHOP", "--json").json == {
        "items": [{"name": "shop", "group": None, "config": {"currency": "EUR"}}]
    }


def test_what_people_did_is_listed_newest_first_page_by_page(cli: Cli, order: Path, hands: Hands) -> None:
    assert "nobody did anything yet" in cli("audit").err
    cli("register", order)
    run_id = hands.start(document(step("a"), name="other"))
    cli("pause", run_id, "--reason", "lunch")
    first = cli("audit", "--json", "--limit", "2").json
    second = cli("audit", "--json", "--limit", "2", "--after", first["next"]).json
    acts = [(item["action"], item["target_id"]) for item in first["items"] + second["items"]]
    assert acts == [("pause", run_id), ("register", "other"), ("register", "order")]
    (line,) = cli("audit", "--run", "latest").out.splitlines()[1:]
    assert all(word in line for word in ("cli:", "pause", f"run {run_id}", "lunch"))
    assert cli("audit", "--after", "x").code == 2


def test_the_urls_of_the_servers_are_printed_as_a_shell_takes_them(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = cli("env", "--json").json
    assert urls["DATABASE_URL"].startswith("postgresql://")
    assert urls["REDIS_URL"].startswith("redis://")
    lines = cli("env").out.splitlines()
    assert [shlex.split(line) for line in lines] == [["export", f"{name}={url}"] for name, url in urls.items()]
    monkeypatch.setenv("BROKER_URL", "amqp://user:pass@host//")
    assert list(cli("env", "--json").json) == ["DATABASE_URL", "BROKER_URL"]
