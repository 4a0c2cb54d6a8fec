"""The Keeper's looks, one by one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.errors import Unreachable
from orchestrator.functions import Registry
from orchestrator.ids import new_id, new_token
from orchestrator.services.engine import Engine
from orchestrator.store.db import Database
from orchestrator.transport import NullTransport
from tests.documents import document, step
from tests.hands import Hands
from tests.support import wait_for
from workers import lease
from workers.announce import Announcer, this_process
from workers.board import Entry, Gone, LocalBoard
from workers.exits import Exits
from workers.lease import Keeper, Pace, Power
from workers.outage import Outage


class Dead(LocalBoard):
    """A board with processes that died."""

    def __init__(self, *gone: Gone) -> None:
        super().__init__()
        self._gone = list(gone)

    def gone(self) -> Sequence[Gone]:
        return tuple(self._gone)

    def forget(self, pid: int) -> None:
        self._gone = [gone for gone in self._gone if gone.pid != pid]


def dead(pid: int) -> Gone:
    return Gone(pid, [Entry(pid, new_id(), new_token(), since=0.0)])


@pytest.fixture
def board() -> Dead:
    return Dead(dead(-11), dead(-12), Gone(-13))


@pytest.fixture
def keeper(db: Database, board: Dead) -> Keeper:
    engine = Engine(db, Registry(), NullTransport())
    announcer = Announcer(db, lambda: this_process("me", "worker"), engine.functions)
    return Keeper(engine, board, Pace(1, 1, 1), Power(interrupt=False, kill=False), announcer, Exits(None))


def announced(db: Database) -> int:
    with db.transaction() as conn:
        return len(conn.exec_driver_sql("SELECT FROM workers WHERE id = 'me'").all())


def test_dead_processes_whose_attempts_are_settled_already_are_forgotten(
    keeper: Keeper, board: Dead, db: Database
) -> None:
    keeper.look()
    assert board.gone() == ()
    assert announced(db) == 1


def test_an_attempt_that_cannot_be_settled_is_left_to_its_lease_and_keeps_nobody_waiting(
    keeper: Keeper, board: Dead, db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> bool:
        raise ValueError("a row that cannot be")

    monkeypatch.setattr(lease, "end_for", fail)
    keeper.look()
    assert board.gone() == ()
    assert announced(db) == 1
    assert caplog.text.count("is left to its lease") == 2


def test_dead_processes_are_looked_after_when_postgres_is_back(
    keeper: Keeper, board: Dead, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object) -> bool:
        raise Unreachable("away")

    with monkeypatch.context() as patch:
        patch.setattr(lease, "end_for", away)
        for _ in range(3):
            keeper.look()
        assert len(board.gone()) == 3
    keeper.look()
    assert board.gone() == ()
    assert caplog.text.count("goes on when it answers") == 1


def test_a_locked_row_costs_no_other_attempt_its_lease_and_interrupts_nobody(db: Database) -> None:
    hands = Hands(db)
    hands.start(document(step("a"), step("b")))
    a, b = hands.claim()
    board = LocalBoard()
    board.hold([(a.step_id, a.token), (b.step_id, b.token)])
    for claimed in (a, b):
        assert board.begin()
        board.call(claimed.token, None)
    announcer = Announcer(db, lambda: this_process("me", "worker"), hands.engine.functions)
    keeper = Keeper(hands.engine, board, Pace(1, 1, 1), Power(interrupt=False, kill=False), announcer, Exits(None))
    before = leases(db)
    with db.engine.begin() as other:
        other.execute(text("SELECT FROM workflow_run_steps WHERE id = :id FOR UPDATE"), {"id": a.step_id})
        keeper.look()
    after = leases(db)
    assert (after["a"], after["b"] != before["b"]) == (before["a"], True)
    assert not board.asked(a.token)


def test_a_table_that_an_upgrade_has_locked_is_told_in_a_line_and_the_keeper_goes_on(
    db: Database, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    impatient = Database.connect(database_url, pool_size=1, lock_timeout=0.1)
    announcer = Announcer(impatient, lambda: this_process("me", "worker"))
    engine = Engine(impatient, Registry(), NullTransport())
    keeper = Keeper(
        engine, LocalBoard(), Pace(1, 1, 0.1, idle=0.1), Power(interrupt=False, kill=False), announcer, Exits(None)
    )
    with db.engine.begin() as upgrade:
        upgrade.execute(text("LOCK TABLE workers"))
        keeper.start()
        wait_for(lambda: "is left to its next look" in caplog.text, what="the keeper says what it waits for")
    wait_for(lambda: announced(db) == 1, what="it goes on")
    keeper.stop()
    assert [record.exc_info for record in caplog.records if record.exc_info] == []


def leases(db: Database) -> dict[str, Any]:
    with db.transaction() as conn:
        rows = conn.exec_driver_sql("SELECT name, lease_expires_at FROM workflow_run_steps")
        return {row.name: row.lease_expires_at for row in rows}


def test_an_outage_is_told_once_and_its_end_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outage = Outage(logging.getLogger("test"), "the work")
    for _ in range(3):
        with outage.ridden_out():
            raise Unreachable("away")
    assert outage.lasts
    for _ in range(2):
        with outage.ridden_out():
            pass
    assert not outage.lasts
    assert [record.levelname for record in caplog.records if record.name == "test"] == ["ERROR", "WARNING"]
    with pytest.raises(ValueError, match="another"), outage.ridden_out():
        raise ValueError("another error is not an outage")
