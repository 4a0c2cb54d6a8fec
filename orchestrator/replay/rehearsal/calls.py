"""Calls on workers, rehearsed: tried as often as their policy says, each at its time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from orchestrator.context import AttemptContext, AttemptLink
from orchestrator.domain.build import step_of
from orchestrator.domain.definition import Retry, Step
from orchestrator.domain.outcome import Again, AttemptFacts, ErrorInfo, Outcome, OutcomeKind, verdict
from orchestrator.domain.values import storable
from orchestrator.errors import UnstorableValue
from orchestrator.functions import FunctionSpec
from orchestrator.replay.journal import End, Entry
from orchestrator.replay.rehearsal.results import Call
from orchestrator.replay.rehearsal.stage import Stage
from orchestrator.replay.rehearsal.turns import plain
from orchestrator.services.perform import outcome_of


@dataclass(slots=True)
class Calling:
    """One call until it has ended, which `done` is told; `over`: nobody waits for it any more."""

    stage: Stage
    run_id: str
    entry: Entry
    link: AttemptLink
    log: logging.Logger
    done: Callable[[End, Call], None]
    over: Callable[[], bool]
    attempt: int = 0
    began: float = 0.0

    def begin(self) -> None:
        """Try it for the first time, now."""
        self.began = self.stage.agenda.now
        self._try()

    def _try(self) -> None:
        if self.over():
            return
        self.attempt += 1
        agenda, spec, step = self.stage.agenda, *self._asked()
        at, began = agenda.moment, agenda.now
        with agenda.aside():
            outcome = self._perform(spec, step)
            spent = agenda.now - began
        agenda.later(spent, lambda: self._settle(spec, step, outcome, at))

    def _asked(self) -> tuple[FunctionSpec, Step]:
        """The function, and the step with what holds for it."""
        body: Mapping[str, Any] = self.entry.body or {}
        spec = self.stage.function(body["function"])
        return spec, step_of({"name": self.entry.key, **body})

    def _perform(self, spec: FunctionSpec, step: Step) -> Outcome:
        timeout = float(step.timeout) if step.timeout is not None else spec.timeout
        given = dict((self.entry.body or {})["input"])
        if spec.wants_context:
            once = f"{self.run_id}:{self.entry.key}"
            given["ctx"] = AttemptContext(self.run_id, self.entry.key, self.attempt, once, self.log, self.link)
        try:
            with self.stage.limited(timeout):
                return Outcome.succeeded(*storable(spec.call(**given), max_bytes=1 << 20))
        except UnstorableValue as error:
            told = f"what it returned cannot be stored: {error}"
            return Outcome.failed(ErrorInfo("UnstorableValue", told, classes=("UnstorableValue",)), final=True)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises is the attempt's end
            return outcome_of(error, timeout)

    def _settle(self, spec: FunctionSpec, step: Step, outcome: Outcome, at: datetime) -> None:
        if self.over():
            return
        retry = step.retry or spec.retry
        left = None if step.total_timeout is None else float(step.total_timeout) - (self.stage.agenda.now - self.began)
        facts = AttemptFacts(self.attempt, retry.max_attempts if retry else 1, 0, 1, total_seconds_left=left)
        judged = verdict(_with(step, retry), facts, outcome.as_asked(cancel_requested=False), 0.5)
        if isinstance(judged, Again):
            self.stage.agenda.later(judged.delay, self._try)
            return
        value = outcome.output if outcome.kind is OutcomeKind.SUCCEEDED else None
        error = None if judged.error is None else judged.error.as_json()
        end = End(judged.status.value, value, error)
        took = self.stage.agenda.moment - at
        self.done(end, self._told(spec, end, at, took))

    def _told(self, spec: FunctionSpec, end: End, at: datetime, took: timedelta) -> Call:
        given = (self.entry.body or {})["input"]
        error = plain(end.error)
        return Call("call", self.entry.key, spec.name, given, end.status, end.value, error, self.attempt, at, took)


def _with(step: Step, retry: Retry | None) -> Step:
    return step if step.retry is not None or retry is None else replace(step, retry=retry)
