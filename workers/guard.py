"""What is around the call of a step function."""

from __future__ import annotations

import os
import time
from types import TracebackType

from orchestrator.services.claim import Prepared
from orchestrator.tracing.load import Attempts, AttemptSpan
from workers.limits import Call, Limits
from workers.live import LiveAttempt
from workers.logs import Captured


class Guard:
    """What the function prints is captured, the time it takes is limited, and a child it forks ends with it.

    `alone`: the process runs one attempt at a time.
    """

    def __init__(
        self, limits: Limits, token: str, live: LiveAttempt, *, alone: bool, traces: Attempts | None = None
    ) -> None:
        self._limits, self._token, self._live, self._alone, self._traces = limits, token, live, alone, traces
        self.span: AttemptSpan | None = None
        self._captured: Captured | None = None
        self._call: Call | None = None
        self._began = 0.0
        self._pid = os.getpid()
        self.took = 0.0  # seconds

    def __call__(self, prepared: Prepared) -> Guard:
        self._live.prepared(prepared)
        self._captured = Captured(self._live.capture, alone=self._alone)
        self._call = self._limits.call(self._token, prepared.timeout)
        if self._traces is not None:
            self.span = self._traces.attempt(prepared)
        return self

    def __enter__(self) -> None:
        assert self._captured is not None
        assert self._call is not None
        self._captured.start()
        if self.span is not None:
            self.span.enter()
        self._began = time.monotonic()
        self._call.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if os.getpid() != self._pid:
            # A child the function forked has come back from it. The board, the connections and the step are its
            # parent's: it goes before it touches any of them, or writes the parent's unwritten output again.
            os._exit(0 if kind is None else 1)
        assert self._captured is not None
        assert self._call is not None
        self.took = time.monotonic() - self._began
        try:
            self._call.__exit__(kind, error, trace)
        finally:
            self._leave()

    def clear(self) -> None:
        """Also after an interrupt that came between entering and the call, or on the way out."""
        if self._call is not None:
            self._call.clear()
        self._leave()

    def _leave(self) -> None:
        if self.span is not None:
            self.span.leave()
        if self._captured is not None:
            self._captured.stop()
