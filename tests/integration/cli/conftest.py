"""The command line on a database of its own; a worker is played by hand."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.cli.main import run
from orchestrator.store.db import Database
from orchestrator.store.transition import Queued
from tests.hands import Hands


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Said]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command line where no server is configured; `stdin` is its standard input."""
    for name in ("DATABASE_URL", "REDIS_URL", "BROKER_URL", "ORCHESTRATOR_FUNCTIONS", "ORCHESTRATOR_APP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ORCHESTRATOR_DATA_DIR", str(tmp_path / "data"))

    def call(*args: object, stdin: str = "") -> Said:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = run([str(arg) for arg in args])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


@pytest.fixture
def cli(bare: Cli, monkeypatch: pytest.MonkeyPatch, database_url: str, broker_url: str) -> Cli:
    """Runs a command line on a fresh database and an empty broker."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", broker_url)
    return bare


@pytest.fixture
def shared_cli(
    bare: Cli, monkeypatch: pytest.MonkeyPatch, orchestrator_module_database_url: str, broker_url: str
) -> Cli:
    """Runs a command line on the module's database."""
    monkeypatch.setenv("DATABASE_URL", orchestrator_module_database_url)
    monkeypatch.setenv("REDIS_URL", broker_url)
    return bare


@pytest.fixture
def shared_hands(module_db: Database) -> Hands:
    """The worker of the module's database."""
    return Hands(module_db)


@pytest.fixture
def hands(db: Database) -> Hands:
    """A worker played by hand; it knows the functions `ok` and `fail`."""
    return Hands(db)


def take_queued(db: Database) -> list[Queued]:
    """The messages of the steps that were sent to the broker."""
    with db.transaction() as conn:
        rows = conn.execute(text("SELECT id, claim_token FROM workflow_run_steps WHERE status = 'queued' ORDER BY id"))
        return [Queued(row.id, row.claim_token) for row in rows]


def work_off(hands: Hands) -> None:
    """Perform everything that waits, whoever sent it."""
    while messages := take_queued(hands.db):
        for claimed in hands.claim(messages):
            hands.settle(claimed)
    hands.outbox.take()
