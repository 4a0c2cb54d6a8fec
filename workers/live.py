"""An attempt as it is seen while it runs: its rendered input, its lines, its progress. Short ones are never shown."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Protocol

from orchestrator.domain.values import storable
from orchestrator.errors import AttemptCanceled, Unreachable
from orchestrator.services.attempt_lines import store_lines
from orchestrator.services.claim import Claimed, Prepared
from orchestrator.services.engine import Engine
from orchestrator.store import lease
from orchestrator.store.logs import LogLine
from workers.about import Subject
from workers.logs import Capture, masker, uncaptured
from workers.outage import Outage

log = logging.getLogger("orchestrator.worker")
SHOWN_AFTER_SECONDS = 2.0
SHOWN_EVERY_SECONDS = 1.0
ASKED_EVERY_SECONDS = 0.5


class LiveAttempt:
    """What is known of a running attempt, and its way to the store (an `AttemptLink`)."""

    def __init__(self, engine: Engine, claimed: Claimed) -> None:
        self._engine, self._claimed = engine, claimed
        # A thread of an attempt before may print into this one what was secret there.
        self.capture = Capture(masker())
        self._input_json: str | None = None
        self._began = time.monotonic()
        self._asked_at = 0.0
        self._cancel_requested = False
        self._progress: Any = None
        self._news = False  # the progress is not stored yet
        self._lock = threading.RLock()  # held while something is on its way to the store
        self._over = False

    def prepared(self, prepared: Prepared) -> None:
        """Its input is rendered; what it prints from here on is masked."""
        self.capture = Capture(prepared.masker or self.capture.masker, Subject(self._engine, prepared))
        self._input_json = prepared.input_json

    def report(self, progress: Any | None) -> bool:
        """Note progress and look whether a cancel was asked for, at most every half second in the store.

        Raises `AttemptCanceled` when the claim no longer holds, `UnstorableValue` for progress JSON cannot hold.
        """
        if progress is not None:
            value, _ = storable(progress, max_bytes=self._engine.settings.max_output_bytes)
            self._progress = self.capture.masker.value(value)
            self._news = True
        if time.monotonic() - self._asked_at >= ASKED_EVERY_SECONDS:
            self._ask()
        return self._cancel_requested

    def _ask(self) -> None:
        with self._lock:
            self._asked_at = time.monotonic()
            try:
                told = self._store_progress()
            except Unreachable as error:
                log.debug("progress is told later: %s", error)
                return
        if told is None:
            raise AttemptCanceled("the attempt was canceled, or its lease was lost")
        self._cancel_requested = told

    def _store_progress(self) -> bool | None:
        progress = self._progress if self._news else None
        with self._engine.db.transaction(lazy=True) as conn:
            told = lease.set_progress(conn, self._claimed.step_id, self._claimed.token, progress)
        self._news = self._news and self._progress is not progress
        return told

    def show(self) -> None:
        """Store what is new, if the attempt has run for long; raises `Unreachable`, and nothing is lost."""
        with self._lock:
            if self._over or time.monotonic() - self._began < SHOWN_AFTER_SECONDS:
                return
            lines = self.capture.take()
            try:
                self._store(lines)
            except BaseException:
                self.capture.put_back(lines)
                raise

    def _store(self, lines: list[LogLine]) -> None:
        step_id, token = self._claimed.step_id, self._claimed.token
        if self._news:
            self._store_progress()
        if self._input_json is not None:
            with self._engine.db.transaction(lazy=True) as conn:
                lease.set_input(conn, step_id, token, self._input_json)
            self._input_json = None
        self._over = not store_lines(self._engine.db, step_id, token, lines)

    def close(self) -> list[LogLine]:
        """The attempt is over: the lines that are to be stored with its outcome."""
        with self._lock:
            self._over = True
            if self._news:
                self._store_last_progress()
            return self.capture.finish()

    def _store_last_progress(self) -> None:
        """Store the last progress; of an attempt whose claim is lost, nothing."""
        try:
            self._store_progress()
        except Unreachable as error:
            log.debug("the last progress is not told: %s", error)


class Shown(Protocol):
    """Something that is looked after while it lasts."""

    def show(self) -> None:
        """Store what is due; raises `Unreachable`, and nothing is lost."""


class Reporter:
    """One thread a process that shows its long attempts. `start` it in the process that uses it."""

    def __init__(self) -> None:
        self._attempts: dict[str, Shown] = {}
        self._outage = Outage(log, "showing what runs")

    def start(self) -> None:
        threading.Thread(target=self._run, name="orchestrator-reporter", daemon=True).start()

    def add(self, token: str, attempt: Shown) -> None:
        self._attempts[token] = attempt

    def remove(self, token: str) -> None:
        self._attempts.pop(token, None)

    def _run(self) -> None:
        uncaptured()
        while True:
            time.sleep(SHOWN_EVERY_SECONDS)
            for attempt in list(self._attempts.values()):
                self._show(attempt)

    def _show(self, attempt: Shown) -> None:
        try:
            with self._outage.ridden_out():
                attempt.show()
        except Exception:  # noqa: BLE001 - an attempt that cannot be shown still runs, and is settled with its lines
            log.exception("a running attempt could not be shown")
