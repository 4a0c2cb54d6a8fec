"""Timeouts and interrupts of calls."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.errors import AttemptCanceled, AttemptTimeout
from orchestrator.ids import new_id, new_token
from tests.support import wait_for
from workers.board import Ending, Entry, LocalBoard
from workers.limits import INTERRUPT, Fences, MainThread

TIMEOUT = 60.0  # of calls that come to its end at a moment of their choice


@pytest.fixture
def board() -> LocalBoard:
    return LocalBoard()


@pytest.fixture
def main_thread(board: LocalBoard) -> Iterator[MainThread]:
    before = signal.getsignal(INTERRUPT)
    made = MainThread(board)
    with made.held():  # the first use sets the signals
        yield made
    signal.signal(INTERRUPT, before)


def entered(board: LocalBoard) -> str:
    token = new_token()
    board.hold([(new_id(), token)])
    board.begin()
    return token


def never() -> None:
    """Wait for an exception."""
    wait_for(lambda: False, 20)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def run_out(self) -> None:
        """The timeout is over, and its alarm goes off: here, wherever the machine may have stood still."""
        self.now += 2 * TIMEOUT
        os.kill(os.getpid(), signal.SIGALRM)
        never()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("workers.limits.time", made)
    return made


def interrupt(board: LocalBoard, token: str) -> None:
    """Ask for the end of an attempt, as the Keeper does."""
    for entry in board.running():
        if entry.token == token:
            board.ask(entry)
    os.kill(os.getpid(), INTERRUPT)


def test_a_function_past_its_timeout_is_ended_by_an_exception(main_thread: MainThread, board: LocalBoard) -> None:
    with pytest.raises(AttemptTimeout), main_thread.call(entered(board), 0.05):
        never()


def test_a_function_without_a_timeout_and_one_within_it_are_left_alone(
    main_thread: MainThread, board: LocalBoard
) -> None:
    for timeout in (None, 30.0):
        with main_thread.call(entered(board), timeout):
            pass


def test_the_alarm_is_off_and_its_handler_restored_after_the_call(main_thread: MainThread, board: LocalBoard) -> None:
    def before(*_: object) -> None:
        raise AssertionError("this handler is not for the orchestrator")

    original = signal.signal(signal.SIGALRM, before)
    try:
        with main_thread.call(entered(board), 30.0):
            assert signal.getsignal(signal.SIGALRM) is not before
        assert signal.getsignal(signal.SIGALRM) is before
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, original)


def test_a_function_that_swallows_its_timeout_does_not_succeed(
    main_thread: MainThread, board: LocalBoard, clock: Clock
) -> None:
    def swallow() -> None:
        try:
            clock.run_out()
        except Exception:  # noqa: BLE001 - this is what the test is about
            return

    with pytest.raises(AttemptTimeout), main_thread.call(entered(board), TIMEOUT):
        swallow()


def test_a_function_that_swallows_its_timeout_still_shows_on_the_board(
    main_thread: MainThread, board: LocalBoard, clock: Clock
) -> None:
    shown: list[Entry] = []

    def swallow() -> None:
        try:
            clock.run_out()
        except AttemptTimeout:
            shown.extend(board.running())

    with pytest.raises(AttemptTimeout), main_thread.call(entered(board), TIMEOUT):
        swallow()
    assert [entry.calling for entry in shown] == [True]
    assert [entry.calling for entry in board.running()] == [False]


def test_an_error_made_of_the_timeout_is_still_a_timeout(
    main_thread: MainThread, board: LocalBoard, clock: Clock
) -> None:
    def call() -> None:
        try:
            clock.run_out()
        except AttemptTimeout as error:
            raise ValueError("wrapped") from error

    with pytest.raises(AttemptTimeout), main_thread.call(entered(board), TIMEOUT):
        call()


class Faceless(Exception):
    @property
    def __class__(self) -> Any:
        raise RuntimeError("nobody")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


def test_a_late_error_that_will_not_say_what_it_is_is_a_timeout_too(board: LocalBoard) -> None:
    with pytest.raises(AttemptTimeout), Fences(board).call(entered(board), 0.0):
        raise Faceless


def test_an_error_of_the_function_passes_through(main_thread: MainThread, board: LocalBoard) -> None:
    with pytest.raises(KeyError), main_thread.call(entered(board), 30.0):
        raise KeyError("mine")


def test_the_keepers_signal_cancels_the_attempt_that_was_asked_to_end(
    main_thread: MainThread, board: LocalBoard
) -> None:
    token = entered(board)

    def call() -> None:
        interrupt(board, token)
        never()

    with pytest.raises(AttemptCanceled), main_thread.call(token, None):
        call()


def test_a_signal_that_comes_too_late_does_not_touch_the_next_attempt(
    main_thread: MainThread, board: LocalBoard
) -> None:
    first, second = new_token(), new_token()
    board.hold([(new_id(), first), (new_id(), second)])
    assert board.begin()
    with main_thread.call(first, None):
        pass
    with main_thread.call(second, None):
        interrupt(board, first)
    assert board.asked(first)


def test_a_signal_between_two_calls_does_nothing(main_thread: MainThread, board: LocalBoard) -> None:
    token = entered(board)
    interrupt(board, token)
    with main_thread.call(token, None):
        pass
    interrupt(board, token)


def test_an_attempt_is_interrupted_at_most_once(main_thread: MainThread, board: LocalBoard) -> None:
    """So that clean-up code in the function is not cut short by a second exception."""
    token = entered(board)
    cleaned: list[str] = []

    def call() -> None:
        try:
            interrupt(board, token)
            never()
        finally:
            interrupt(board, token)
            cleaned.append("cleaned")

    with pytest.raises(AttemptCanceled), main_thread.call(token, None):
        call()
    assert cleaned == ["cleaned"]


@pytest.fixture
def pool_child(board: LocalBoard) -> Iterator[MainThread]:
    """As in a child of a pool, whose own handler of SIGTERM raises SystemExit."""

    def leave(*_: object) -> None:
        raise SystemExit(15)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, INTERRUPT)}
    signal.signal(signal.SIGTERM, leave)
    yield MainThread(board, forked=True)
    for number, handler in before.items():
        signal.signal(number, handler)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_pool_process_told_to_go_ends_its_function_stores_what_it_has_and_goes(
    pool_child: MainThread, board: LocalBoard
) -> None:
    """Its worker stops by force."""
    board.end(Ending.COLD)
    done: list[str] = []

    def call() -> None:
        terminate()
        never()

    def message() -> None:
        with pool_child.held():
            with pytest.raises(SystemExit), pool_child.call(entered(board), None):
                call()
            assert pool_child.stopping
            terminate()
            done.append("stored")

    with pytest.raises(SystemExit) as caught:
        message()
    assert caught.value.code == 15
    assert done == ["stored"]


def test_a_pool_process_told_to_go_with_its_worker_lets_its_function_end(
    pool_child: MainThread, board: LocalBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host has told all processes of it; this one may have heard first."""
    monkeypatch.setattr("workers.limits._ALONE_SECONDS", 3600.0)  # a slow machine would come to its end
    with pool_child.held(), pool_child.call(entered(board), None):
        terminate()
        board.end(Ending.WARM)
        wait_for(lambda: not pool_child._told, what="it has seen that its worker ends too")
        terminate()
    assert not pool_child.stopping


def test_a_pool_process_told_to_go_alone_goes(
    pool_child: MainThread, board: LocalBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.limits._ALONE_SECONDS", 0.0)

    def call() -> None:
        with pool_child.held(), pool_child.call(entered(board), None):
            terminate()
            never()

    with pytest.raises(SystemExit):
        call()
    assert pool_child.stopping


def test_a_pool_process_told_to_go_while_it_stores_goes_afterwards(pool_child: MainThread, board: LocalBoard) -> None:
    board.end(Ending.COLD)
    done: list[str] = []

    def message() -> None:
        with pool_child.held():
            terminate()
            done.append("stored")

    with pytest.raises(SystemExit):
        message()
    assert done == ["stored"]


def test_an_idle_pool_process_told_to_go_goes_at_once(pool_child: MainThread) -> None:
    with pool_child.held():
        pass
    with pytest.raises(SystemExit):
        terminate()


def test_clearing_makes_good_for_an_interrupt_on_the_way_into_the_call(
    main_thread: MainThread, board: LocalBoard
) -> None:
    before = signal.getsignal(signal.SIGALRM)
    call = main_thread.call(entered(board), 30.0)
    call.__enter__()
    call.clear()
    call.clear()
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert [entry.calling for entry in board.running()] == [False]


@pytest.mark.parametrize("timeout", [1e-6, 1e-5, 1e-4, 3e-4, 1e-3])
def test_no_alarm_is_left_over_however_short_the_timeout(
    timeout: float, main_thread: MainThread, board: LocalBoard
) -> None:
    """The alarm may go off anywhere between arming and disarming."""
    before = signal.getsignal(signal.SIGALRM)
    for _ in range(100):
        token = entered(board)
        call = main_thread.call(token, timeout)
        try:
            with call:
                sum(range(100))
        except AttemptTimeout:
            pass
        finally:
            call.clear()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGALRM) == before
        board.hold([])


def test_a_late_return_where_nothing_can_interrupt_is_a_timeout_and_says_so(
    board: LocalBoard, caplog: pytest.LogCaptureFixture
) -> None:
    never_set = threading.Event()
    with pytest.raises(AttemptTimeout, match="after its timeout"), Fences(board).call(entered(board), 0.01):
        never_set.wait(0.05)
    assert "what it gave is dropped" in caplog.text


def test_fences_work_in_any_thread(board: LocalBoard) -> None:
    raised: list[Any] = []

    def run() -> None:
        with Fences(board).call(entered(board), 30.0):
            raised.append("ran")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert raised == ["ran"]
