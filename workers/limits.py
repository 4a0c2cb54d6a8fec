"""The end of attempts that take too long or are no longer wanted, as far as the pool allows.

Where the function runs in its process' main thread (prefork, solo) a signal raises `AttemptTimeout` or
`AttemptCanceled` inside it. Elsewhere (threads, gevent, eventlet) nothing can: the coordinator fences the attempt
off after its timeout and a grace, and what comes back late is dropped, saying so.

SIGALRM and `setitimer(ITIMER_REAL)` belong to the orchestrator while a function with a timeout runs: a function
that sets its own alarm disarms its timeout, and is then ended as one that swallows it: the Keeper kills the
process after a grace.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType, TracebackType
from typing import Any, Protocol

from orchestrator.errors import AttemptCanceled, AttemptTimeout
from workers.board import Board, Ending

log = logging.getLogger("orchestrator.step")
INTERRUPT = signal.SIGUSR2
_ALONE_SECONDS, _LOOK_SECONDS = 2.0, 0.05


class Call(Protocol):
    """The time in which an attempt's function runs; a context manager."""

    def __enter__(self) -> object: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises `AttemptTimeout` when the function comes back after its timeout."""

    def clear(self) -> None:
        """Undo whatever an interrupt at the wrong moment has left; does no harm twice."""


class Limits(Protocol):
    """What limits the calls of one process."""

    @property
    def stopping(self) -> bool:
        """Whether this process was told to go."""

    def held(self) -> AbstractContextManager[None]:
        """While entered, a process that is told to go does so at the end: what was begun is stored first."""

    def call(self, token: str, timeout: float | None) -> Call:
        """A call of the attempt's function, to be entered; `timeout` in seconds."""


class FencedCall:
    """A call nobody can interrupt."""

    def __init__(self, board: Board, token: str, timeout: float | None) -> None:
        self._board, self._token, self._timeout = board, token, timeout
        self._began = 0.0
        self._open = False

    def __enter__(self) -> object:
        self._began, self._open = time.monotonic(), True
        self._board.call(self._token, self._timeout)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
        took, timeout = time.monotonic() - self._began, self._timeout
        if timeout is None or took <= timeout or (kind is not None and issubclass(kind, AttemptTimeout)):
            return
        told = f"the function came back {took - timeout:.1f} s after its timeout of {timeout:g} s"
        log.warning("%s; what it gave is dropped", told)
        raise AttemptTimeout(told)

    def clear(self) -> None:
        was_open, self._open = self._open, False
        if was_open:
            self._board.called(self._token)


class Fences:
    """For pools whose functions cannot be interrupted."""

    stopping = False

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def __init__(self, board: Board) -> None:
        self._board = board

    def call(self, token: str, timeout: float | None) -> Call:
        return FencedCall(self._board, token, timeout)


class MainThreadCall(FencedCall):
    """A call in the main thread, which a signal can interrupt, once."""

    def __init__(self, board: Board, token: str, timeout: float | None) -> None:
        super().__init__(board, token, timeout)
        self._armed = self._alarmed = False
        self._replaced: Any = None

    def __enter__(self) -> object:
        super().__enter__()
        self._armed = True
        if self._timeout is not None:
            self._replaced = signal.signal(signal.SIGALRM, self._on_alarm)
            self._alarmed = True
            signal.setitimer(signal.ITIMER_REAL, self._timeout)
        return self

    def clear(self) -> None:
        self._armed = False
        if self._alarmed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL if self._replaced is None else self._replaced)
            self._alarmed = False
        super().clear()

    def interrupted(self) -> None:
        """The Keeper's signal has come: end the attempt if it is this very one that is meant."""
        if self._armed and self._board.asked(self._token):
            self._armed = False
            raise AttemptCanceled("the attempt was canceled, or its lease was lost")

    def terminated(self) -> None:
        """This process is told to go: end the function, if it runs."""
        if self._armed:
            self._armed = False
            raise SystemExit

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            raise AttemptTimeout(f"the attempt used up its timeout of {self._timeout:g} s")


class MainThread:
    """For processes that run one function at a time, in their main thread.

    `forked`: a child of a pool, whose end by SIGTERM is its worker's and not the function's.
    """

    def __init__(self, board: Board, *, forked: bool = False) -> None:
        self._board, self._forked = board, forked
        self._now: MainThreadCall | None = None
        self._stopping = self._holding = self._installed = self._told = False
        self._terminate: Any = None

    @property
    def stopping(self) -> bool:
        return self._stopping

    def call(self, token: str, timeout: float | None) -> Call:
        self._now = MainThreadCall(self._board, token, timeout)
        return self._now

    @contextmanager
    def held(self) -> Iterator[None]:
        if not self._installed:  # at the first use, because a pool sets signals anew after its children's set-up
            self._install()
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
            if self._stopping:
                self._terminate(signal.SIGTERM, None)

    def _install(self) -> None:
        signal.signal(INTERRUPT, self._on_interrupt)
        self._terminate = signal.getsignal(signal.SIGTERM)
        if self._forked and callable(self._terminate):
            signal.signal(signal.SIGTERM, self._on_terminate)
        self._installed = True

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._now is not None:
            self._now.interrupted()

    def _on_terminate(self, number: int, frame: FrameType | None) -> None:
        """Go at once when nothing is held (the pool's own handler raises SystemExit); else end the function first.

        A host that stops a worker may tell all its processes (honcho tells the group, Heroku each one): what runs goes
        on then, as its worker lets it. This process may hear of it before that one does.
        """
        if not self._holding:
            self._stopping = True
            self._terminate(number, frame)
        elif self._board.ending is Ending.COLD or self._told:
            self._leave()
        elif self._board.ending is Ending.NO:
            self._told = True
            threading.Thread(target=self._look_who_else_is_told, daemon=True).start()

    def _leave(self) -> None:
        self._stopping = True
        if self._now is not None:
            self._now.terminated()

    def _look_who_else_is_told(self) -> None:
        """Unless the worker is to end too, this process alone is."""
        ends = time.monotonic() + _ALONE_SECONDS
        while time.monotonic() < ends:
            if self._board.ending is Ending.WARM:
                self._told = False
                return
            time.sleep(_LOOK_SECONDS)
        os.kill(os.getpid(), signal.SIGTERM)
