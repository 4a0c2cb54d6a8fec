"""UUIDv7 identifiers and claim tokens."""

from __future__ import annotations

import threading
import time
import uuid

from orchestrator import ids


def test_an_id_is_a_uuid_of_version_7() -> None:
    made = uuid.UUID(ids.new_id())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert str(made) == str(made).lower()


def test_an_id_holds_the_time_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(ids.new_id()).int >> 80
    # Ids made faster than the clock ticks count on from the last, so the time may run a little ahead.
    assert made >= before - 1


def test_ids_sort_in_the_order_they_were_made() -> None:
    made = [ids.new_id() for _ in range(2000)] + ids.new_ids(5000) + [ids.new_id()]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_threads_never_make_the_same_id() -> None:
    made: list[list[str]] = [[] for _ in range(8)]
    threads = [threading.Thread(target=lambda into=into: into.extend(ids.new_ids(500))) for into in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(batch == sorted(batch) for batch in made)
    assert len({i for batch in made for i in batch}) == 8 * 500


def test_a_token_is_a_uuid_of_version_4() -> None:
    made = {uuid.UUID(ids.new_token()) for _ in range(200)}
    assert len(made) == 200
    assert {(token.version, token.variant) for token in made} == {(4, uuid.RFC_4122)}


def test_the_shape_of_an_id_is_known() -> None:
    assert ids.is_id(ids.new_id())
    assert ids.is_id(ids.new_token())
    for not_one in ("", "x", ids.new_id().upper(), ids.new_id() + "\n", ids.new_id()[:-1], "{" + ids.new_id() + "}"):
        assert not ids.is_id(not_one)
