"""When a process says that it is there."""

from __future__ import annotations

import pytest

from orchestrator.functions import Registry
from orchestrator.store.db import Database
from workers.announce import Announcer, this_process


def seen(db: Database) -> int:
    with db.transaction() as conn:
        return int(conn.exec_driver_sql("SELECT count(*) FROM workers").scalar_one())


def test_who_sees_a_worker_can_start_its_workflows(db: Database) -> None:
    """One that waits for a worker, as a deploy script does, starts a run next."""
    seen_when_registered = []

    def register() -> bool:
        seen_when_registered.append(seen(db))
        return True

    announcer = Announcer(db, lambda: this_process("me", "worker"), Registry(), register=register)
    announcer.announce()
    assert (seen_when_registered, seen(db)) == ([0], 1)


def test_a_worker_whose_workflows_are_to_be_registered_later_is_there_all_the_same(db: Database) -> None:
    answers = iter([False, True])
    announcer = Announcer(
        db, lambda: this_process("me", "worker"), Registry(), changed=lambda: True, register=lambda: next(answers)
    )
    announcer.announce()
    assert seen(db) == 1
    announcer.announce()
    assert next(answers, None) is None
    announcer.announce()


def test_a_worker_whose_workflows_cannot_be_registered_is_there_all_the_same(db: Database) -> None:
    """It runs steps, of other workflows too."""

    def register() -> bool:
        raise ZeroDivisionError

    announcer = Announcer(db, lambda: this_process("me", "worker"), Registry(), register=register)
    with pytest.raises(ZeroDivisionError):
        announcer.announce()
    assert seen(db) == 1
