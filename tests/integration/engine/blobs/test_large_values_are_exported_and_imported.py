"""An export has large values as they are; where they come in they are put away as any other, or kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.blobs import MARK
from orchestrator.errors import BlobsAway
from orchestrator.services.blobs import NO_BLOBS
from orchestrator.services.export import Exported, export
from orchestrator.services.import_runs import import_runs
from orchestrator.services.lines import text_of
from orchestrator.services.remove_exported import remove_exported
from orchestrator.services.view import view
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.engine.blobs.shelf import files, hands


@pytest.fixture
def source(module_db: Database, tmp_path: Path) -> Hands:
    return hands(module_db, tmp_path / "there")


def given(made: Hands, run_id: str) -> Any:
    """What step `a` gave, as it is stored."""
    with made.db.transaction() as conn:
        return conn.execute(
            text("SELECT output FROM workflow_run_steps WHERE run_id = :id AND name = 'a'"), {"id": run_id}
        ).scalar_one()


def test_large_values_come_along_and_go_with_their_run(source: Hands, db: Database, tmp_path: Path) -> None:
    run_id = source.start(document(step("a", function="text", input={"size": 9000})))
    source.work()
    assert MARK in given(source, run_id)
    assert len(files(tmp_path / "there")) == 1  # the run's output refers to the step's
    done = Exported()
    told = [text_of(line) for line in export(source.db, [run_id], done, blobs=source.engine.blobs)]
    assert not any(MARK.encode() in line for line in told)
    assert sum(b"x" * 9000 in line for line in told) >= 2  # the step's and the run's
    with pytest.raises(BlobsAway):
        list(export(source.db, [run_id], Exported()))

    elsewhere = hands(db, tmp_path / "here")
    (*_, came) = import_runs(db, told, name="f", actor="test", blobs=elsewhere.engine.blobs)
    assert came.runs == 1
    assert MARK in given(elsewhere, run_id)
    assert len(files(tmp_path / "here")) == 2
    assert view(elsewhere.engine, run_id)["status"] == "succeeded"
    again = [text_of(line) for line in export(db, [run_id], Exported(), blobs=elsewhere.engine.blobs)]
    assert [line for line in again if b'"kind":"step"' in line] == [line for line in told if b'"kind":"step"' in line]

    assert remove_exported(source.engine, done, file="f", actor="test") == 1
    assert files(tmp_path / "there") == []


def test_without_a_store_they_are_kept_in_their_rows(source: Hands, db: Database) -> None:
    run_id = source.start(document(step("a", function="text", input={"size": 9000})))
    source.work()
    told = [text_of(line) for line in export(source.db, [run_id], Exported(), blobs=source.engine.blobs)]
    list(import_runs(db, told, name="f", actor="test", blobs=NO_BLOBS))
    assert given(Hands(db), run_id) == "x" * 9000


def test_of_a_value_that_is_gone_there_are_words(source: Hands, tmp_path: Path) -> None:
    run_id = source.start(document(step("a", function="text", input={"size": 9000})))
    source.work()
    for file in files(tmp_path / "there"):
        file.unlink()
    told = b"".join(text_of(line) for line in export(source.db, [run_id], Exported(), blobs=source.engine.blobs))
    assert b"in the blob store: " in told
    assert MARK.encode() not in told
