"""What `up` says when everything runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.config import Config
from orchestrator.up.banner import facts, tries
from orchestrator.up.known import Known

CONFIG = Config(database_url="postgresql+psycopg2://u:p@h/d", broker_url="redis://h/0")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The settings of an `up` in the current folder."""
    monkeypatch.chdir(tmp_path)
    return replace(CONFIG, data_dir=tmp_path / ".orchestrator")


def told(config: Config, *functions: str) -> str:
    (line,) = said(config, "  functions", Known(functions))
    return line


def said(config: Config, what: str, known: Known) -> list[str]:
    lines = facts(config, "http://h", 1, known, "orc_x").splitlines()
    return [line.removeprefix(what).strip() for line in lines if line.startswith(what)]


def test_the_users_functions_are_named(here: Config) -> None:
    assert told(here) == "none of your own: ORCHESTRATOR_FUNCTIONS is not set"
    assert told(replace(here, functions=("shop", "bank"))) == "none of your own in shop, bank"
    assert told(here, "a", "b") == "a, b"
    assert told(here, *"abcdefg") == "a, b, c, d, e and 2 more"


def test_workflows_that_are_functions_are_named_where_there_are_any(here: Config) -> None:
    assert said(here, "  workflows", Known()) == []
    assert said(here, "  workflows", Known((), ["order", "refund"])) == ["order, refund"]


def test_the_token_to_sign_in_with_is_where_no_server_log_sees_it(here: Config) -> None:
    assert "  sign in    http://h/login#token=orc_x" in facts(here, "http://h", 1, Known(), "orc_x").splitlines()


def test_the_commands_work_in_another_terminal_whatever_the_data_folder(here: Config) -> None:
    (here.data_dir).mkdir()
    assert "export" not in tries(here, None)
    elsewhere = here.data_dir.parent / "my data"
    lines = tries(replace(here, data_dir=elsewhere), "some-run").splitlines()
    assert lines[2] == f"  export ORCHESTRATOR_DATA_DIR='{elsewhere}'"
    assert any("orchestrator show some-run" in line for line in lines)
