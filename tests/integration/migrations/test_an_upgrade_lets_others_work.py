"""An upgrade beside a system that works: it waits for nobody long, and nobody for it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from orchestrator.errors import Locked
from orchestrator.store import migrate
from orchestrator.store.db import Database
from tests.documents import document, step
from tests.hands import Hands
from tests.support import wait_for
from tests.watching import blocked

Release = Callable[[str], None]
NEXT = """
from alembic import op
from orchestrator.store.online import build_index

revision, down_revision, branch_labels, depends_on = "9000", "{head}", None, None


def upgrade():
{body}
"""


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Release]:
    """A later release, with one revision more."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.SCRIPTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    head = migrate._scripts().get_current_head()

    def make(body: str) -> None:
        (folder / "versions" / "9000_next.py").write_text(NEXT.format(head=head, body=body))
        monkeypatch.setattr(migrate, "SCRIPTS", folder)
        migrate._scripts.cache_clear()

    yield make
    monkeypatch.undo()
    migrate._scripts.cache_clear()


ADD = '    op.get_bind().exec_driver_sql("ALTER TABLE workflow_runs ADD COLUMN later INTEGER")'
INDEX = '    build_index(op.get_context(), "later_idx", "workflow_runs (created_at)")'


def in_thread(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def test_it_gives_way_to_who_holds_a_table_and_comes_back(
    db: Database, database_url: str, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(ADD)
    monkeypatch.setattr(migrate, "_LOCK_SECONDS", 0.1)
    monkeypatch.setattr(migrate, "_PAUSE_SECONDS", 0.05)
    tried: list[object] = []
    monkeypatch.setattr(migrate.log, "warning", lambda *told: tried.append(told))
    done: list[list[str]] = []
    with db.transaction() as holder:
        holder.execute(text("SELECT FROM workflow_runs LIMIT 1"))
        upgrade = in_thread(lambda: done.append(migrate.upgrade(database_url)))
        wait_for(lambda: blocked(db, "ALTER TABLE workflow_runs%"), what="it waits for the table")
        hands = Hands(db)
        run_id = hands.start(document(step("a"), step("b", "a")))  # waits behind it, and no longer than it does
        hands.work()
        assert hands.status(run_id) == "succeeded"
        wait_for(lambda: len(tried) > 1, what="it has tried again")
    upgrade.join(30)
    assert done == [["9000"]]


def test_it_gives_up_when_a_table_is_held_for_ever(
    db: Database, database_url: str, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(ADD)
    monkeypatch.setattr(migrate, "_LOCK_SECONDS", 0.05)
    with db.transaction() as holder:
        holder.execute(text("SELECT FROM workflow_runs LIMIT 1"))
        with pytest.raises(Locked, match="a long transaction holds what an upgrade needs"):
            migrate.upgrade(database_url, patience=0.0)
    assert migrate.upgrade(database_url) == ["9000"]


def test_an_index_is_built_while_rows_come_and_two_upgrades_wait_for_each_other(
    db: Database, database_url: str, release: Release
) -> None:
    release(INDEX)
    hands, done = Hands(db), list[list[str]]()
    with db.transaction() as writer:
        writer.execute(text("UPDATE workflow_runs SET depth = 0"))
        writer.execute(text("INSERT INTO workers (id, kind, host, pid, version) VALUES ('x', 'beat', 'h', 1, '1')"))
        upgrades = [in_thread(lambda: done.append(migrate.upgrade(database_url))) for _ in range(2)]
        wait_for(lambda: blocked(db, "CREATE INDEX CONCURRENTLY%"), what="it waits for the writer to end")
        run_id = hands.start(document(step("a")))  # writes while the index is being built
        hands.work()
        assert hands.status(run_id) == "succeeded"
    for upgrade in upgrades:
        upgrade.join(30)
    assert sorted(done) == [[], ["9000"]]
    with db.transaction() as conn:
        assert conn.execute(text("SELECT indisvalid FROM pg_index WHERE indexrelid = 'later_idx'::regclass")).scalar()


def test_an_index_that_was_left_half_built_is_built_anew(db: Database, database_url: str, release: Release) -> None:
    release(INDEX)
    with db.transaction() as conn:
        conn.execute(text("CREATE INDEX later_idx ON workflow_runs (created_at)"))
        conn.execute(text("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'later_idx'::regclass"))
    assert migrate.upgrade(database_url) == ["9000"]
    with db.transaction() as conn:
        assert conn.execute(text("SELECT indisvalid FROM pg_index WHERE indexrelid = 'later_idx'::regclass")).scalar()


def test_what_was_started_before_the_upgrade_works_on_after_it(
    db: Database, database_url: str, release: Release
) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("a"), step("b", "a"), step("c", "b")))
    hands.settle(hands.claim()[0])
    release(ADD)
    assert migrate.upgrade(database_url) == ["9000"]
    hands.work()
    assert hands.status(run_id) == "succeeded"
