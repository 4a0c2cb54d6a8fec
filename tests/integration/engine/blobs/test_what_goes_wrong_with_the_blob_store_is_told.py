"""A store that is away is trouble, a blob that is gone or damaged a failure; nobody makes a reference of their own."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import testing
from orchestrator.blobstore import FileStore, Stored
from orchestrator.domain.blobs import MARK, Blob
from orchestrator.domain.retention import Rule
from orchestrator.domain.values import storable
from orchestrator.errors import (
    BlobGone,
    BlobsAway,
    ExpressionError,
    InvalidDefinition,
    InvalidInput,
    UnstorableValue,
)
from orchestrator.handle import RunHandle
from orchestrator.services.blobs import Blobs
from orchestrator.services.check import check
from orchestrator.services.clean_blobs import find_missing, find_orphans, remove_orphans
from orchestrator.services.coordinate import tick
from orchestrator.services.delete import delete
from orchestrator.services.dispatch import dispatch
from orchestrator.services.gc import gc
from orchestrator.services.register import register
from orchestrator.services.rerun import rerun
from orchestrator.services.settle_all import settle_all
from orchestrator.services.start import start
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.engine.blobs.shelf import INLINE, MOST, OVER, files, hands


class Moody(FileStore):
    """A store that refuses, for as long as it is told to."""

    refuses: str | None = None

    def write(self, path: str, chunks: Iterable[bytes]) -> None:
        self._look()
        super().write(path, chunks)

    def read(self, path: str) -> Iterator[bytes]:
        self._look()
        yield from super().read(path)

    def remove(self, paths: Iterable[str]) -> int:
        self._look()
        return super().remove(paths)

    def _look(self) -> None:
        if self.refuses is not None:
            raise BlobsAway(self.refuses)


def moody(db: Database, folder: Path) -> tuple[Hands, Moody]:
    worker, store = hands(db, folder), Moody(folder.as_uri())
    worker.engine = replace(worker.engine, blobs=Blobs(store, OVER, MOST, INLINE))
    return worker, store


BIG = step("big", function="text", input={"size": 3000})
READ = step("read", "big", function="length", input={"of": "{{ steps.big.output }}"})


def test_a_store_that_is_away_keeps_the_outcome_for_another_try(module_db: Database, tmp_path: Path) -> None:
    worker, store = moody(module_db, tmp_path)
    run_id = worker.start(document(BIG, READ))
    (claimed,) = worker.claim()
    done = worker.perform(claimed)
    store.refuses = "no space left"
    with pytest.raises(BlobsAway, match="no space left"):
        settle_all(worker.engine, [done])
    assert worker.steps(run_id)["big"]["status"] == "running"
    store.refuses = None
    worker.settle_all([done])
    store.refuses = "gone for lunch"
    with pytest.raises(BlobsAway, match="lunch"):
        worker.work()
    store.refuses = None
    _revive(worker)
    worker.work()
    assert worker.status(run_id) == "succeeded", worker.steps(run_id)


def _revive(worker: Hands) -> None:
    """What a worker held as the store went away is taken again."""
    with worker.db.transaction() as conn:
        conn.execute(
            text(
                "UPDATE workflow_run_steps SET status = 'ready', claim_token = NULL, lease_expires_at = NULL,"
                " worker_id = NULL, started_at = NULL, queued_at = NULL, attempt = attempt - 1 WHERE status = 'running'"
            )
        )
    dispatch(worker.engine, ["default"])


def test_a_run_that_the_store_keeps_from_its_end_keeps_no_other_from_it(module_db: Database, tmp_path: Path) -> None:
    worker, store = moody(module_db, tmp_path)
    last = step("last", "big", function="fail", on_lost="fail", on_error="ignore")
    output = {"n": "{{ steps.big.output | length }}"}
    stuck = worker.start(document(BIG, last, output=output))
    free = worker.start(document(step("last", function="fail", on_lost="fail", on_error="ignore")))
    for claimed in worker.claim():
        if worker.perform(claimed).outcome.output is not None:
            worker.settle(claimed)
    worker.claim()
    with module_db.transaction() as conn:
        conn.execute(
            text("UPDATE workflow_run_steps SET lease_expires_at = now() - interval '1 s' WHERE status = 'running'")
        )
    worker.engine.blobs._kept.texts.clear()
    store.refuses = "away"
    tick(worker.engine)
    assert (worker.status(stuck), worker.status(free)) == ("running", "succeeded")
    store.refuses = None
    tick(worker.engine)
    assert RunHandle(worker.engine, stuck).output == {"n": 3000}


def test_what_a_function_does_to_its_arguments_is_nobody_elses(module_db: Database, tmp_path: Path) -> None:
    def spoil(of: list[Any]) -> int:
        of.clear()
        return 0

    worker = hands(module_db, tmp_path, {"spoil": spoil})
    rows = step("rows", input={"count": 60}) | {"function": "rows"}
    given = {"of": "{{ steps.rows.output }}"}
    spoils = [step(f"spoil{n}", "rows", function="spoil", input=given) for n in range(2)]
    counts = step("count", "rows", "spoil0", "spoil1", function="length", input=given)
    run_id = worker.start(document(rows, *spoils, counts, output="{{ steps.rows.output }}"))
    worker.work()
    assert worker.steps(run_id)["count"]["output"] == 60
    handle = RunHandle(worker.engine, run_id)
    handle.output.clear()
    assert len(handle.output) == 60


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_every_kind_of_store_gives_back_what_it_was_given(module_db: Database, tmp_path: Path, kind: str) -> None:
    url = tmp_path.as_uri() if kind == "file" else f"memory://{tmp_path}"
    worker = hands(module_db, tmp_path)
    store = FileStore(url)
    worker.engine = replace(worker.engine, blobs=Blobs(store, OVER, MOST, INLINE))
    run_id = worker.start(document(BIG, READ, output="{{ steps.big.output }}"))
    worker.work()
    made = rerun(worker.engine, run_id, from_steps="read").run_id
    worker.work()
    worker.engine.blobs._kept.texts.clear()
    assert RunHandle(worker.engine, made).output == "x" * 3000
    assert len(list(store.find())) == 2
    assert store.remove([stored.path for stored in store.find()]) == 2
    assert list(store.find()) == []


# Databases of tests are copies of one, and their tables have the same numbers.
LOCKED = text("""
SELECT count(*) FROM pg_locks WHERE mode = 'RowExclusiveLock' AND relation = 'workflow_run_steps'::regclass
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()
""")


def test_a_condition_that_reads_it_holds_no_lock_while_the_store_is_asked(module_db: Database, tmp_path: Path) -> None:
    locked: list[int] = []

    class Watching(FileStore):
        def read(self, path: str) -> Iterator[bytes]:
            with module_db.transaction() as conn:
                locked.append(conn.execute(LOCKED).scalar_one())
            yield from super().read(path)

    worker = hands(module_db, tmp_path)
    worker.engine = replace(worker.engine, blobs=Blobs(Watching(tmp_path.as_uri()), OVER, MOST, INLINE))
    run_id = worker.start(
        document(
            BIG,
            step("other", "big"),
            step("asked", "other", when="steps.big.output | length == 3000"),
            output={"n": "{{ steps.big.output | length }}"},
        )
    )
    worker.work()
    assert RunHandle(worker.engine, run_id).output == {"n": 3000}
    assert locked
    assert set(locked) == {0}


@pytest.mark.parametrize("how", ["gone", "damaged", "cut"])
def test_a_blob_that_is_not_what_was_put_there_fails_what_reads_it(
    module_db: Database, tmp_path: Path, how: str
) -> None:
    worker = hands(module_db, tmp_path)
    run_id = worker.start(document(BIG, READ, output="{{ steps.big.output }}"))
    worker.settle(*worker.claim())
    (path,) = files(tmp_path)
    if how == "gone":
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(content[:-5] if how == "cut" else content.replace(b"x", b"y", 1))
    worker.work()
    error = worker.steps(run_id)["read"]["error"]
    assert error["type"] == "BlobGone"
    assert run_id in error["message"]
    assert str(tmp_path) in error["message"]
    assert worker.status(run_id) == "failed"
    shown = worker.engine.blobs.shown(worker.steps(run_id)["big"]["output"])
    assert path.name in shown["problem"]
    found = [one.step for one in find_missing(module_db, worker.engine.blobs) if one.run_id == run_id]
    assert found == ([] if how == "damaged" else ["big"])
    if how == "gone":
        report = check(module_db, processes=False, blobs=worker.engine.blobs, sleep=lambda _: None)
        assert [one.step for one in report.findings if one.kind == "blob_missing" and one.run_id == run_id] == ["big"]


def test_a_folder_that_is_not_mounted_is_trouble_not_a_loss(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path / "mount")
    run_id = worker.start(document(BIG, output="{{ steps.big.output }}"))
    worker.work()
    (tmp_path / "mount").rename(tmp_path / "away")
    (tmp_path / "mount").mkdir()
    with pytest.raises(BlobsAway, match="is it mounted"):
        _ = RunHandle(worker.engine, run_id).output
    with pytest.raises(BlobsAway, match="is it mounted"):  # or it would lie hidden when the mount is back
        worker.engine.blobs.put("d/r/x.json", '"x"')
    (tmp_path / "mount").rmdir()
    (tmp_path / "away").rename(tmp_path / "mount")
    assert RunHandle(worker.engine, run_id).output == "x" * 3000


def test_nobody_makes_a_reference(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path, {"forge": lambda of: json.loads(of), "made": lambda: Blob.of("x", 1, "y", "z")})
    run_id = worker.start(document(BIG))
    worker.work()
    real = worker.steps(run_id)["big"]["output"]
    forged = json.dumps({"deep": [dict(real)]})
    thief = worker.start(
        document(
            step("forge", function="forge", input={"of": forged}),
            step("text", function="ok", input={"of": forged}),
            step("made", function="made"),
            step("read", "text", function="ok", input={"of": "{{ fromjson(steps.text.output.of).deep[0] }}"}),
        )
    )
    worker.work()
    steps = worker.steps(thief)
    assert steps["text"]["output"] == {"of": forged}
    for name in ("forge", "made", "read"):
        assert steps[name]["status"] == "failed", steps[name]
        assert MARK in steps[name]["error"]["message"]
    with pytest.raises(InvalidInput, match="blob store"):
        start(worker.engine, "w", {"of": {MARK: "2026-01-01/x"}})
    with pytest.raises(InvalidDefinition, match=r"steps\[0\].input.of"):
        register(worker.engine, document(step("a", input={"of": dict(real)})))
    with pytest.raises(UnstorableValue, match=r"\$\.a\[0\]"):
        storable({"a": [{MARK: 1}]}, max_bytes=1000)


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "2026-01-01/../x", "C:\\x", "%2e%2e/x", "s3://other/x", "", "a\nb"]
)
def test_no_other_file_is_ever_read(tmp_path: Path, path: str) -> None:
    blobs = Blobs(FileStore(tmp_path.as_uri()), OVER, MOST, INLINE)
    with pytest.raises(BlobGone, match="not the path of a blob"):
        blobs.value(Blob.of(path, 1, "0" * 64, ""))


def test_a_late_writer_changes_nothing(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    run_id = worker.start(document(BIG))
    (late,) = worker.claim()
    done = worker.perform(late)
    _revive(worker)
    worker.work()
    kept = worker.steps(run_id)["big"]["output"]
    assert settle_all(worker.engine, [done]).stale == {late.step_id}
    assert worker.steps(run_id)["big"]["output"] == kept
    assert len(files(tmp_path)) == 2
    assert RunHandle(worker.engine, run_id).output == {"big": "x" * 3000}
    orphans = [o.path for o in find_orphans(module_db, worker.engine.blobs, older=-60)]
    assert [late.token in path for path in orphans] == [True]
    assert list(find_orphans(module_db, worker.engine.blobs)) == []  # it may be about to be settled
    assert [o.path for o in remove_orphans(module_db, worker.engine.blobs, older=-60)] == orphans
    assert len(files(tmp_path)) == 1
    (tmp_path / "notes.txt").write_text("not ours")
    with module_db.transaction() as conn:
        conn.execute(text("DELETE FROM workflow_runs WHERE id = :id"), {"id": run_id})
    assert len(list(remove_orphans(module_db, worker.engine.blobs, older=-60))) == 1
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["notes.txt", "orchestrator-blobs"]


def test_a_run_takes_its_blobs_along(module_db: Database, tmp_path: Path) -> None:
    worker, store = moody(module_db, tmp_path)
    kept = worker.start(document(BIG))
    each = step("i", with_items=[2000, 3000], function="text", input={"size": "{{ item }}"})
    made = [worker.start(document(BIG, READ, each))]
    worker.work()
    made.append(rerun(worker.engine, made[0], from_steps="read").run_id)
    worker.work()
    assert len([p for p in files(tmp_path) if kept not in str(p)]) == 6
    assert delete(worker.engine, made[0]) == 1
    assert [p for p in files(tmp_path) if made[0] in str(p)] == []
    assert RunHandle(worker.engine, made[1]).output["i"] == ["x" * 2000, "x" * 3000]
    everything = [Rule(keep_seconds=0)]
    (*_, done) = gc(module_db, everything, blobs=worker.engine.blobs, limit=1, actor="me")
    assert done.runs >= 1
    left = len(files(tmp_path))
    assert left < 5
    store.refuses = "not now"
    (*_, done) = gc(module_db, everything, blobs=worker.engine.blobs, actor="me")
    assert len(files(tmp_path)) == left
    store.refuses = None
    assert len(list(remove_orphans(module_db, worker.engine.blobs, older=-60))) == left
    assert files(tmp_path) == []


def test_limits_name_their_setting(module_db: Database, tmp_path: Path) -> None:
    worker = hands(module_db, tmp_path)
    run_id = worker.start(document(step("huge", function="text", input={"size": MOST + 1})))
    worker.work()
    assert "ORCHESTRATOR_BLOB_MAX" in worker.steps(run_id)["huge"]["error"]["message"]
    assert files(tmp_path) == []
    without = testing.run(document(step("a", function="huge")), functions={"huge": lambda: "x" * (2 << 20)})
    assert "ORCHESTRATOR_BLOB_URL" in without.steps["a"].error["message"]


def test_a_write_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    store = FileStore(tmp_path.as_uri())

    def breaks() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    def refuses() -> Iterator[bytes]:
        yield b"half"
        raise ExpressionError("a list that is too large")

    with pytest.raises(BlobsAway, match="No space left"):
        store.write("2026-01-01/a/b.json", breaks())
    with pytest.raises(ExpressionError, match="too large"):  # no trouble of the store's, which another try may end
        store.write("2026-01-01/a/b.json", refuses())
    assert files(tmp_path) == []
    assert list(store.find()) == []
    store.write("2026-01-01/a/b.json", [b"1", b"2"])
    assert [Stored(one.path, one.size, None) for one in store.find()] == [Stored("2026-01-01/a/b.json", 2, None)]
    assert b"".join(store.read("2026-01-01/a/b.json")) == b"12"
