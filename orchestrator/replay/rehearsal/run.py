"""One rehearsed run, from its start to its end: what its function asks for happens on the agenda."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from orchestrator.domain.build import build
from orchestrator.domain.codes import DRIVER, WorkflowSpec
from orchestrator.domain.inputs import check_input, check_output
from orchestrator.domain.outcome import Again, AttemptFacts, ErrorInfo, Outcome, verdict
from orchestrator.domain.values import storable
from orchestrator.errors import OrchestratorError
from orchestrator.ids import new_id
from orchestrator.replay.journal import Broken, Continued, End, Entry, Suspended, Verb
from orchestrator.replay.play import Raised, Returned, Turn
from orchestrator.replay.rehearsal.calls import Calling
from orchestrator.replay.rehearsal.children import Child, begin_child
from orchestrator.replay.rehearsal.kept import Kept
from orchestrator.replay.rehearsal.results import Call, CodeResult
from orchestrator.replay.rehearsal.stage import Stage
from orchestrator.replay.rehearsal.turns import turn
from orchestrator.replay.rehearsal.waits import NO_SLEEP, Awaited, seconds_until, too_late

log = logging.getLogger("orchestrator.step")
Over = Callable[[], None]


class Run:
    """`on_end` are told once, in the order in which they came."""

    def __init__(self, stage: Stage, spec: WorkflowSpec, input: Any, child_id: str | None = None) -> None:
        self.stage, self.spec, self.child_id = stage, spec, child_id
        self.id = new_id()
        self.definition = build({**spec.document, "name": spec.name})
        self.input = self._checked(input)
        self.kept = Kept(stage.agenda, self.id, self.input, self._begin)
        self.status = "running"
        self.output: Any = None
        self.error: Any = None
        self.traceback: str | None = None
        self.children: list[Child] = []
        self.calls: list[Call] = []
        self.sleeps: list[timedelta] = []
        self.progress: list[Any] = []
        self.on_end: list[Over] = []
        self.events: list[tuple[str, Any]] = []
        self.awaited: dict[int, Awaited] = {}
        self._wanted: Sequence[int] | None = None
        self._attempt = 1
        self._turns: list[Entry] = []
        self._began = stage.agenda.now
        self._duration = 0.0

    def _checked(self, input: Any) -> Any:
        """As a start checks it; raises `InvalidInput`, `UnstorableValue`."""
        value, _ = storable({} if input is None else input, max_bytes=1 << 20)
        schema = self.definition.input_schema
        return value if schema is None else check_input(schema, value)

    def begin(self) -> None:
        self.stage.agenda.later(0.0, self._turn)
        if self.definition.timeout is not None:
            self.stage.agenda.later(self.definition.timeout, self._overdue)

    @property
    def over(self) -> bool:
        return self.status != "running"

    # Turns.

    def _turn(self) -> None:
        """Play the function until it waits or ends; what that took passes before anything follows from it."""
        if self.over:
            return
        agenda, began, kept = self.stage.agenda, self.stage.agenda.now, self.kept
        with agenda.aside():
            played = turn(
                self.stage, self.spec.call, kept.load(), kept, self, log, self.calls.append,
                workflow=self.spec.name, attempt=self._attempt,
            )  # fmt: skip
            spent = agenda.now - began
        agenda.later(spent, lambda: self._after(played))

    def report(self, progress: Any | None) -> bool:
        """The link of its attempts; nobody asks one to stop."""
        if progress is not None:
            self.progress.append(progress)
        return False

    def _after(self, played: Turn) -> None:
        if self.over:
            return
        match played:
            case Returned(value, _):
                self._returned(value)
            case Raised(error, final):
                self._raised(error, final)
            case Suspended() as waits:
                self._suspended(waits)
            case Continued() as continued:
                self.kept.go_on_anew(continued.input)
                self.awaited, self._turns = {}, []
                self.stage.agenda.later(0.0, self._turn)
            case Broken(error=error):
                raise error  # a payload that does not fit, say: what the test has given
            case _:
                raise played

    def _suspended(self, waits: Suspended) -> None:
        self.kept.append(waits.pending)
        if waits.seconds is not None:
            self.stage.agenda.later(waits.seconds, self._turn)
        else:
            self._wanted = waits.awaited
            self._wake()

    def _wake(self) -> None:
        """A turn, once all has ended that the last one waited for."""
        if self._wanted is not None and self.kept.has_ended(self._wanted):
            self._wanted = None
            self.stage.agenda.later(0.0, self._turn)

    def _returned(self, value: Any) -> None:
        schema = self.definition.output_schema
        problems = [] if schema is None else check_output(schema, value)
        if problems:
            self.end("failed", error={"type": "OutputSchemaError", "message": "; ".join(map(str, problems))})
        else:
            self.end("succeeded", value)

    def _raised(self, error: Any, final: bool) -> None:
        """The function is tried again as its own `retry` says; each try goes through the same journal."""
        driver = self.definition.steps[0]
        most = driver.retry.max_attempts if driver.retry else 1
        info = ErrorInfo(error["type"], error["message"], error.get("traceback"), tuple(error["classes"]))
        judged = verdict(driver, AttemptFacts(self._attempt, most, 0, 1), Outcome.failed(info, final=final), 0.5)
        if isinstance(judged, Again):
            self._attempt += 1
            self.stage.agenda.later(judged.delay, self._turn)
            return
        self.traceback = info.traceback
        self.end("failed", error={"type": info.type, "message": info.message, "step": DRIVER})

    def _overdue(self) -> None:
        if not self.over:
            told = f"the run did not end within its timeout of {self.definition.timeout:g} s"
            self.end("failed", error={"type": "DeadlineExceeded", "message": told, "step": None})

    def cancel(self) -> None:
        if not self.over:
            self.end("canceled")

    def end(self, status: str, output: Any = None, error: Any = None) -> None:
        """Its end, and that of what it began."""
        self.status, self.output, self.error = status, output, error
        self._duration = self.stage.agenda.now - self._began
        self.kept.cancel_open()
        for child in self.children:
            child.stop()
        for told in self.on_end:
            told()

    # What the function asks for.

    def _begin(self, entry: Entry) -> None:
        """An entry was written that stands for something else than what it says itself."""
        match entry.verb:
            case Verb.CALL:
                self._call(entry)
            case Verb.CHILD:
                self.stage.agenda.later(0.0, lambda: begin_child(self, entry))
            case Verb.SLEEP:
                self._sleep(entry)
            case Verb.EVENT:
                self._await(entry)
            case Verb.CANCEL:
                self._cancel_child((entry.body or {})["position"])

    def ended(self, entry: Entry, end: End) -> None:
        """What was begun has ended, if the run still wants to know."""
        if not self.over and self.kept.end_at(entry, end):
            self._wake()

    def _call(self, entry: Entry) -> None:
        """Begin it; one whose turn has not come waits for others of its kind."""
        under_way = [other for other in self._turns if not self.kept.has_ended([other.position])]
        if entry.turn is not None:
            self._turns.append(entry)
            if len(under_way) >= entry.turn:
                return
        self._begin_call(entry)

    def _begin_call(self, entry: Entry) -> None:
        def done(end: End, call: Call) -> None:
            self.calls.append(call)
            self.ended(entry, end)
            self._next_in_turn(entry)

        calling = Calling(self.stage, self.id, entry, self, log, done, lambda: self.over)
        self.stage.agenda.later(0.0, calling.begin)

    def _next_in_turn(self, entry: Entry) -> None:
        if entry in self._turns:
            self._turns.remove(entry)
            most = entry.turn or 0
            if len(self._turns) >= most:
                self._begin_call(self._turns[most - 1])

    def _sleep(self, entry: Entry) -> None:
        seconds = seconds_until((entry.body or {})["sleep"], self.stage.agenda.now)
        if seconds is None:
            self.stage.agenda.later(0.0, lambda: self.ended(entry, NO_SLEEP))
            return
        self.sleeps.append(timedelta(seconds=seconds))
        self.stage.agenda.later(seconds, lambda: self.ended(entry, End("succeeded")))

    def _await(self, entry: Entry) -> None:
        asked = (entry.body or {})["wait_for"]
        awaited = Awaited(entry, asked["event"], asked.get("schema"))
        self.awaited[entry.position] = awaited
        seconds = asked.get("timeout")
        if seconds is not None:
            until = self.stage.agenda.moment + timedelta(seconds=seconds)
            self.stage.agenda.later(seconds, lambda: self.ended(entry, too_late(awaited.event, until)))
        self._take_events()

    def signal(self, name: str, payload: Any) -> None:
        """An event has come; one that nothing waits for yet is kept."""
        if not self.over:
            self.events.append((name, storable(payload, max_bytes=1 << 20)[0]))
            self._take_events()

    def _take_events(self) -> None:
        for position, awaited in sorted(self.awaited.items()):
            come = next((event for event in self.events if event[0] == awaited.event), None)
            if self.kept.has_ended([position]) or come is None:
                continue
            self.events.remove(come)
            end = awaited.end(come[1])
            self.stage.agenda.later(0.0, partial(self.ended, awaited.entry, end))
            self.awaited.pop(position)

    def _cancel_child(self, position: int) -> None:
        child = next(child for child in self.children if child.entry.position == position)
        self.stage.agenda.later(0.0, child.stop)

    def child_run(self, spec: WorkflowSpec, input: Any, child_id: str | None) -> Run:
        return Run(self.stage, spec, input, child_id)

    # What is told of it.

    def waits_for(self) -> str:
        """What it waits for, for people."""
        open = [f"{e.verb} '{e.key}'{f' ({e.line})' if e.line else ''}" for e in self.kept.waiting()]
        return ", ".join(open) or "nothing"

    def result(self) -> CodeResult:
        if not self.over:
            raise OrchestratorError(f"run {self.id} has not ended")
        told = {"workflow": self.spec.name, "version": self.definition.version, "status": self.status}
        history = {"run_id": self.id, **told, **self.kept.as_json()}
        return CodeResult(
            id=self.id, workflow=self.spec.name, status=self.status, input=self.input, output=self.output,
            error=self.error, traceback=self.traceback, history=json.loads(json.dumps(history)),
            calls=tuple(self.calls), sleeps=tuple(self.sleeps), progress=tuple(self.progress),
            children=tuple(child.result() for child in self.children),
            duration=timedelta(seconds=self._duration), generations=self.kept.generation + 1,
        )  # fmt: skip
