"""Items of a step, page by page."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection

from orchestrator.client import Orchestrator
from orchestrator.domain.states import StepStatus
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.services.look import look
from orchestrator.store.db import Database
from orchestrator.store.reads import get_run, get_step, list_items, list_steps, load_secrets, step_statuses
from tests.documents import document, step
from tests.hands import Hands
from tests.integration.reads.rows import keys_of


def odd_fails(x: int) -> int:
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


@pytest.fixture
def run_id(db: Database) -> str:
    """A run whose step `each` had seven items, three of which failed."""
    hands = Hands(db, {"odd_fails": odd_fails})
    each = step("each", function="odd_fails", with_items="{{ range(7) | list }}", input={"x": "{{ item }}"})
    secret = {"type": "object", "properties": {"token": {"type": "string", "writeOnly": True}}}
    run_id = hands.start(document(each, step("other"), input_schema=secret), {"token": "s3cret-value"})
    hands.work()
    return run_id


def pages(conn: Connection, run_id: str, size: int, **given: Any) -> list[list[int]]:
    found, after = [], None
    while True:
        page = list_items(conn, run_id, "each", after=after, limit=size, **given)
        found.append([item["index"] for item in page.items])
        after = page.next
        if after is None:
            return found


def test_an_item_has_the_keys_the_page_says(db: Database, run_id: str) -> None:
    with db.transaction() as conn:
        first = list_items(conn, run_id, "each").items[1]
    assert list(first) == keys_of("An item")
    assert (first["index"], first["item"], first["status"], first["input"]) == (1, 1, "failed", {"x": 1})
    assert first["error"]["message"] == "1 is odd"


def test_items_come_page_by_page_in_their_order(db: Database, run_id: str) -> None:
    with db.transaction() as conn:
        assert pages(conn, run_id, 3) == [[0, 1, 2], [3, 4, 5], [6]]
        assert pages(conn, run_id, 2, status=StepStatus.FAILED) == [[1, 3], [5]]
        assert pages(conn, run_id, 9, status=[StepStatus.FAILED, StepStatus.SUCCEEDED]) == [list(range(7))]
        assert pages(conn, run_id, 9, status=StepStatus.CANCELED) == [[]]
        with pytest.raises(InvalidInput):
            list_items(conn, run_id, "each", after="x")
        with pytest.raises(NotFound, match="did you mean 'each'"):
            list_items(conn, run_id, "eacg")
        assert list_items(conn, run_id, "other").items == []


def test_items_are_no_steps(db: Database, run_id: str) -> None:
    with db.transaction() as conn:
        assert get_run(conn, run_id)["counts"] == {"failed": 1, "succeeded": 1}
        assert [found["name"] for found in list_steps(conn, run_id).items] == ["each", "other"]
        assert len(step_statuses(conn, run_id)) == 2
        seen = look(conn, run_id, load_secrets(conn, run_id))
        assert [brief.name for brief in seen.steps] == ["each", "other"]
        counts = get_step(conn, run_id, "each")["items"]
        assert counts == {"succeeded": 4, "failed": 3, "skipped": 0, "canceled": 0}
        assert get_step(conn, run_id, "other")["items"] is None


def test_items_under_way_are_counted_as_they_are(db: Database) -> None:
    hands = Hands(db)
    run_id = hands.start(document(step("each", with_items={"items": [1, 2, 3], "concurrency": 2})))
    hands.settle(hands.claim()[0])
    with db.transaction() as conn:
        counts = get_step(conn, run_id, "each")["items"]
        (brief,) = look(conn, run_id, load_secrets(conn, run_id)).steps
    assert {status: n for status, n in counts.items() if n} == {"queued": 2, "pending": 1}
    assert (brief.items_total, brief.items_ended, brief.items_failed) == (3, 0, 0)


def test_the_client_reads_items(db: Database, run_id: str) -> None:
    handle = Orchestrator(Hands(db).engine).run(run_id)
    assert [item["index"] for item in handle.items("each")] == list(range(7))
    assert [item["index"] for item in handle.items("each", "failed")] == [1, 3, 5]
    one = handle.item("each", 3)
    assert one | {"attempts": []} == list(handle.items("each"))[3] | {"attempts": []}
    assert [(tried["number"], tried["outcome"], tried["error"]["message"]) for tried in one["attempts"]] == [
        (1, "failed", "3 is odd")
    ]
    with pytest.raises(NotFound, match="has no item 7"):
        handle.item("each", 7)


def test_secrets_are_masked_in_items(db: Database) -> None:
    hands = Hands(db)
    secret = {"type": "object", "properties": {"token": {"type": "string", "writeOnly": True}}}
    each = step("each", with_items="{{ [input.token] }}", input={"x": "{{ item }}"})
    run_id = hands.start(document(each, input_schema=secret), {"token": "s3cret-value"})
    hands.work()
    with db.transaction() as conn:
        assert "s3cret" not in str(list_items(conn, run_id, "each").items)
        assert "s3cret" not in str(list_steps(conn, run_id).items)
