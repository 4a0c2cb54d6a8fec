"""Many lines are stored in several transactions: none holds the step's row for long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Connection

from orchestrator.domain.outcome import Outcome
from orchestrator.ids import new_token
from orchestrator.services.attempt_lines import PORTION_CHARACTERS, PORTION_LINES, store_lines
from orchestrator.services.settle_all import Done
from orchestrator.store.db import Database
from orchestrator.store.logs import LogLine
from tests.documents import document, step
from tests.hands import SUCCESS, Hands


class Counting(Database):
    """Counts the lines each transaction stored."""

    def __init__(self, db: Database) -> None:
        super().__init__(db.engine)
        self.stored: list[int] = []

    @contextmanager
    def transaction(self, *, lazy: bool = False) -> Iterator[Connection]:
        with super().transaction(lazy=lazy) as conn:
            before = count(conn)
            yield conn
            self.stored.append(count(conn) - before)


def count(conn: Connection) -> int:
    return int(conn.exec_driver_sql("SELECT count(*) FROM step_logs").scalar_one())


def line(number: int, message: str = "line") -> LogLine:
    return LogLine(datetime.now(UTC), "stdout", "INFO", f"{message} {number}")


def stored(db: Database) -> list[str]:
    with db.transaction() as conn:
        return list(conn.exec_driver_sql("SELECT message FROM step_logs ORDER BY id").scalars())


def running(db: Database) -> tuple[Hands, Any]:
    hands = Hands(db)
    hands.start(document(step("a")))
    return hands, hands.claim()[0]


@pytest.mark.parametrize("outcome", [SUCCESS, Outcome.lost("killed")], ids=["success", "lost"])
def test_every_line_is_stored_once_and_in_order(db: Database, outcome: Outcome) -> None:
    hands, a = running(db)
    lines = [line(number) for number in range(2 * PORTION_LINES + 7)]
    told = [one.message for one in lines]
    hands.settle_all([Done(a, outcome, None, lines)])
    assert stored(db) == told
    assert len(lines) == 7, "the last portion is stored with the outcome"


def test_a_portion_is_bounded_by_its_lines_and_by_its_characters(db: Database) -> None:
    _, a = running(db)
    counting = Counting(db)
    half = "x" * (PORTION_CHARACTERS // 2 - 10)
    lines = [*(line(number) for number in range(PORTION_LINES)), *(line(number, half) for number in range(4))]
    assert store_lines(counting, a.step_id, a.token, lines)
    assert lines == []
    assert counting.stored == [PORTION_LINES, 2, 2]


def test_of_a_lost_claim_nothing_is_stored(db: Database) -> None:
    _, a = running(db)
    lines = [line(number) for number in range(2 * PORTION_LINES)]
    assert not store_lines(db, a.step_id, new_token(), lines)
    assert lines == []
    assert stored(db) == []
