"""The boards of running attempts."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

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


def take(board: Board, *tokens: str) -> None:
    """Hold attempts with these tokens, and begin the first."""
    board.hold([(new_id(), token) for token in tokens])
    assert board.begin()


def test_an_attempt_is_on_the_board_as_long_as_it_is_held(board: Board) -> None:
    step_id, token = new_id(), new_token()
    assert board.running() == []
    board.hold([(step_id, token)])
    (entry,) = board.running()
    assert (entry.step_id, entry.token, entry.pid) == (step_id, token, os.getpid())
    assert not entry.calling
    board.hold([])
    assert board.running() == []


def test_a_hand_tells_which_of_its_attempts_are_begun(board: Board) -> None:
    attempts = [(new_id(), new_token()) for _ in range(3)]
    board.hold(attempts)
    assert [entry.begun for entry in board.running()] == [False, False, False]
    assert board.begin()
    board.call(attempts[0][1], None)
    assert [(e.step_id, e.token) for e in board.running()] == attempts
    assert [(e.begun, e.calling) for e in board.running()] == [(True, True), (False, False), (False, False)]
    board.called(attempts[0][1])
    assert board.begin()
    assert [(e.begun, e.calling) for e in board.running()] == [(True, False), (True, False), (False, False)]
    assert board.seal()
    assert [entry.begun for entry in board.running()] == [True, True, False]


def test_what_is_taken_back_is_not_begun(board: Board) -> None:
    attempts = [(new_id(), new_token()) for _ in range(3)]
    board.hold(attempts)
    assert board.begin()
    assert board.take_back(board.running()[0]) == attempts[1:]
    assert not board.begin()
    assert not board.seal()
    board.hold(attempts[:1])
    assert board.begin()


def test_nothing_is_taken_back_of_a_sealed_hand(board: Board) -> None:
    board.hold([(new_id(), new_token()) for _ in range(2)])
    assert board.begin()
    entry = board.running()[0]
    assert board.seal()
    assert board.take_back(entry) == []


def test_nothing_is_taken_back_for_an_attempt_that_is_gone(board: Board) -> None:
    take(board, new_token())
    entry = board.running()[0]
    board.seal()
    take(board, *(new_token() for _ in range(2)))
    assert board.take_back(entry) == []
    assert board.begin()


def test_a_process_and_who_takes_back_never_both_have_an_attempt(shared: SharedBoard) -> None:
    """Each attempt of many hands is begun by its process or taken back, and never both."""
    begun, rounds, size = [], 300, 20
    out, into = os.pipe()
    tokens = [[(new_id(), new_token()) for _ in range(size)] for _ in range(rounds)]

    def work() -> None:
        for attempts in tokens:
            shared.hold(attempts)
            for _, token in attempts:
                if not shared.begin():
                    break
                os.write(into, token.encode())
            shared.seal()
        os.write(into, b"." * 36)

    taken: list[str] = []
    with child(work):
        ended = False
        while not ended:
            for entry in shared.running()[:1]:
                taken += [token for _, token in shared.take_back(entry)]
            while (token := _read_token(out)) is not None:
                ended = token == "." * 36
                begun.append(token)
    os.close(out)
    os.close(into)
    assert len(begun) > rounds
    assert set(begun).isdisjoint(taken)


def test_a_word_that_is_written_again_is_never_read_as_another(shared: SharedBoard) -> None:
    """One that is taken back twice stays taken back meanwhile, or its process would begin what another has by then."""
    take(shared, new_token())
    entry = shared.running()[0]
    assert shared.take_back(entry) == []

    def take_back_again() -> None:
        while True:
            shared.take_back(entry)

    with child(take_back_again):
        assert not any(shared.begin() for _ in range(30_000))


def _read_token(out: int) -> str | None:
    """A token the child has written, None when there is none yet."""
    ready, _, _ = select.select([out], [], [], 0)
    return os.read(out, 36).decode() if ready else None


def test_the_board_tells_whether_the_function_runs_and_until_when(board: Board) -> None:
    token = new_token()
    take(board, token)
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
    take(board, token)
    board.call(token, None)
    (entry,) = board.running()
    assert (entry.calling, entry.timeout, entry.deadline) == (True, None, None)


def test_a_request_to_end_reaches_the_attempt_it_names_and_not_the_next(board: Board) -> None:
    first, second = new_token(), new_token()
    take(board, first)
    (entry,) = board.running()
    assert not board.asked(first)
    board.ask(entry)
    assert board.asked(first)
    assert not board.asked(second)
    board.seal()
    take(board, second)
    assert not board.asked(second)


def test_a_request_for_an_attempt_that_has_left_stays_without_effect() -> None:
    board = LocalBoard()
    token = new_token()
    take(board, token)
    (entry,) = board.running()
    board.hold([])
    board.ask(entry)
    assert not board.asked(token)


def test_threads_share_a_local_board() -> None:
    board = LocalBoard()
    tokens = [new_token() for _ in range(5)]
    all_hold = Barrier(5)
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda token: (take(board, token), all_hold.wait(10)), tokens))
    assert {entry.token for entry in board.running()} == set(tokens)


def test_the_parent_sees_what_its_children_hold(shared: SharedBoard) -> None:
    board = shared
    mine, theirs = new_token(), new_token()
    take(board, mine)
    with child(lambda: take(board, theirs)) as pid:
        seen = wait_for(lambda: {e.token: e.pid for e in board.running()} if len(board.running()) == 2 else None)
        assert seen == {mine: os.getpid(), theirs: pid}


def test_a_killed_child_is_gone_with_the_attempt_it_held_until_it_is_forgotten(shared: SharedBoard) -> None:
    board = shared
    token = new_token()
    with child(lambda: take(board, token)) as pid:
        wait_for(lambda: [entry.begun for entry in board.running()] == [True], what="it has begun")
        assert board.gone() == []
    (gone,) = board.gone()
    assert gone.pid == pid
    assert [(entry.token, entry.begun) for entry in gone.entries] == [(token, True)]
    board.forget(pid)
    assert board.gone() == []
    assert board.running() == []


def test_a_dead_child_is_seen_before_its_parent_has_fetched_it(shared: SharedBoard) -> None:
    board = shared
    pid = os.fork()
    if pid == 0:
        take(board, new_token())
        os._exit(3)
    try:
        assert [gone.pid for gone in wait_for(board.gone)] == [pid]
    finally:
        os.waitpid(pid, 0)


def test_a_new_child_does_not_take_the_slot_of_a_dead_one_that_nobody_has_looked_after(shared: SharedBoard) -> None:
    board = shared
    first, second = new_token(), new_token()
    with child(lambda: take(board, first)):
        wait_for(board.running)
    with child(lambda: take(board, second)):
        wait_for(lambda: len(board.running()) == 2)
        assert {entry.token for entry in board.running()} == {first, second}
        assert [entry.token for gone in board.gone() for entry in gone.entries] == [first]


def test_slots_are_used_again(shared: SharedBoard) -> None:
    board = shared
    for _ in range(3 * 4):
        token = new_token()
        with child(lambda token=token: take(board, token)) as pid:  # type: ignore[misc]
            wait_for(lambda token=token: [e.token for e in board.running()] == [token])  # type: ignore[misc]
        board.forget(pid)


def rested(board: Board) -> threading.Thread:
    """A thread that rests: for ever, unless something wakes it up or an attempt is held."""
    thread = threading.Thread(target=board.rest, args=(0.0, 3600.0), daemon=True)
    thread.start()
    return thread


def test_the_first_hand_ends_a_rest(board: Board) -> None:
    thread = rested(board)
    take(board, new_token())
    thread.join(30)
    assert not thread.is_alive()


def test_the_first_hand_of_a_child_ends_its_parents_rest(shared: SharedBoard) -> None:
    thread = rested(shared)
    with child(lambda: take(shared, new_token())):
        thread.join(30)
        assert not thread.is_alive()


def test_who_is_to_stop_is_roused_from_its_rest(board: Board) -> None:
    thread = rested(board)
    board.rouse()
    thread.join(30)
    assert not thread.is_alive()


def test_a_bell_rung_many_times_rings_once(shared: SharedBoard) -> None:
    for _ in range(100_000):
        shared.rouse()
    while select.select([shared._bell._out], [], [], 0)[0]:
        shared.rest(0.0, 0.0)
    thread = rested(shared)
    take(shared, new_token())
    thread.join(30)
    assert not thread.is_alive()


def test_a_record_that_was_only_half_written_is_not_read(shared: SharedBoard) -> None:
    board = shared
    take(board, new_token())
    board._memory[130] ^= 0xFF
    assert board.running() == []
