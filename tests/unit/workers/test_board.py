"""The boards of running attempts."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from orchestrator.ids import new_id, new_token
from tests.support import wait_for
from workers.board import Board, LocalBoard
from workers.shared_board import SharedBoard


@pytest.fixture
def shared() -> Iterator[SharedBoard]:
    made = SharedBoard(slots=4)
    yield made
    made.close()


@pytest.fixture(params=["local", "shared"])
def board(request: pytest.FixtureRequest, shared: SharedBoard) -> Board:
    return LocalBoard() if request.param == "local" else shared


@contextmanager
def child(act: Callable[[], object]) -> Iterator[int]:
    """A forked process that does `act` and then waits to be killed."""
    pid = os.fork()
    if pid == 0:
        act()
        signal.pause()
        os._exit(0)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_an_attempt_is_on_the_board_from_entering_to_leaving(board: Board) -> None:
    step_id, token = new_id(), new_token()
    assert board.running() == []
    board.enter(step_id, token)
    (entry,) = board.running()
    assert (entry.step_id, entry.token, entry.pid) == (step_id, token, os.getpid())
    assert not entry.calling
    board.leave(token)
    assert board.running() == []


def test_the_board_tells_whether_the_function_runs_and_until_when(board: Board) -> None:
    token = new_token()
    board.enter(new_id(), token)
    board.call(token, 5.0)
    (entry,) = board.running()
    assert entry.calling
    assert entry.timeout == 5.0
    assert entry.deadline is not None
    assert entry.since < entry.deadline <= entry.since + 6
    board.called(token)
    (entry,) = board.running()
    assert not entry.calling


def test_a_function_without_a_timeout_has_no_deadline(board: Board) -> None:
    token = new_token()
    board.enter(new_id(), token)
    board.call(token, None)
    (entry,) = board.running()
    assert (entry.calling, entry.timeout, entry.deadline) == (True, None, None)


def test_a_request_to_end_reaches_the_attempt_it_names_and_not_the_next(board: Board) -> None:
    first, second = new_token(), new_token()
    board.enter(new_id(), first)
    (entry,) = board.running()
    assert not board.asked(first)
    board.ask(entry)
    assert board.asked(first)
    assert not board.asked(second)
    board.leave(first)
    board.enter(new_id(), second)
    assert not board.asked(second)


def test_a_request_for_an_attempt_that_has_left_stays_without_effect() -> None:
    board = LocalBoard()
    token = new_token()
    board.enter(new_id(), token)
    (entry,) = board.running()
    board.leave(token)
    board.ask(entry)
    assert not board.asked(token)


def test_threads_share_a_local_board() -> None:
    board = LocalBoard()
    tokens = {new_token() for _ in range(5)}
    for token in tokens:
        board.enter(new_id(), token)
    assert {entry.token for entry in board.running()} == tokens
    board.leave(tokens.pop())
    assert {entry.token for entry in board.running()} == tokens


def test_the_parent_sees_what_its_children_hold(shared: SharedBoard) -> None:
    board = shared
    mine, theirs = new_token(), new_token()
    board.enter(new_id(), mine)
    with child(lambda: board.enter(new_id(), theirs)) as pid:
        seen = wait_for(lambda: {e.token: e.pid for e in board.running()} if len(board.running()) == 2 else None)
        assert seen == {mine: os.getpid(), theirs: pid}


def test_a_killed_child_is_gone_with_the_attempt_it_held_until_it_is_forgotten(shared: SharedBoard) -> None:
    board = shared
    token = new_token()
    with child(lambda: board.enter(new_id(), token)) as pid:
        wait_for(board.running)
        assert board.gone() == []
    (gone,) = board.gone()
    assert gone.pid == pid
    assert gone.entry is not None
    assert gone.entry.token == token
    board.forget(pid)
    assert board.gone() == []
    assert board.running() == []


def test_a_dead_child_is_seen_before_its_parent_has_fetched_it(shared: SharedBoard) -> None:
    board = shared
    pid = os.fork()
    if pid == 0:
        board.enter(new_id(), new_token())
        os._exit(3)
    try:
        assert [gone.pid for gone in wait_for(board.gone)] == [pid]
    finally:
        os.waitpid(pid, 0)


def test_a_new_child_does_not_take_the_slot_of_a_dead_one_that_nobody_has_looked_after(shared: SharedBoard) -> None:
    board = shared
    first, second = new_token(), new_token()
    with child(lambda: board.enter(new_id(), first)):
        wait_for(board.running)
    with child(lambda: board.enter(new_id(), second)):
        wait_for(lambda: len(board.running()) == 2)
        assert {entry.token for entry in board.running()} == {first, second}
        assert [gone.entry.token for gone in board.gone() if gone.entry] == [first]


def test_slots_are_used_again(shared: SharedBoard) -> None:
    board = shared
    for _ in range(3 * 4):
        token = new_token()
        with child(lambda token=token: board.enter(new_id(), token)) as pid:  # type: ignore[misc]
            wait_for(lambda token=token: [e.token for e in board.running()] == [token])  # type: ignore[misc]
        board.forget(pid)


def test_a_record_that_was_only_half_written_is_not_read(shared: SharedBoard) -> None:
    board = shared
    board.enter(new_id(), new_token())
    board._memory[20] ^= 0xFF
    assert board.running() == []
