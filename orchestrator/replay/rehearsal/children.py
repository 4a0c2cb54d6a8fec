"""Child runs of a rehearsed run: functions, documents, or what a test gives for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from orchestrator.domain.codes import WorkflowSpec
from orchestrator.domain.values import describe_exception, storable
from orchestrator.errors import InvalidInput
from orchestrator.replay.journal import End, Entry
from orchestrator.replay.rehearsal.results import CodeResult
from orchestrator.replay.rehearsal.stage import Stage


class Parent(Protocol):
    """What a run is for its children."""

    stage: Stage
    children: list[Child]

    def ended(self, entry: Entry, end: End) -> None: ...

    def child_run(self, spec: WorkflowSpec, input: Any, child_id: str | None) -> Childlike: ...


class Childlike(Protocol):
    """What a run is for its parents."""

    status: str
    output: Any
    error: Any
    on_end: list[Callable[[], None]]

    def begin(self) -> None: ...

    def cancel(self) -> None: ...

    def result(self) -> CodeResult: ...


@dataclass(slots=True)
class Child:
    """A child where it was asked for. `owned`: it was started there, and not attached to."""

    entry: Entry
    run: Childlike
    owned: bool

    def stop(self) -> None:
        """With its parent; one that has ended stays as it is."""
        if self.owned:
            self.run.cancel()

    def result(self) -> Any:
        return self.run.result()


def begin_child(parent: Parent, entry: Entry) -> None:
    """Start what the entry asks for, or attach to the run that has its child id."""
    body: Mapping[str, Any] = entry.body or {}
    name, child_id, stage = body["workflow"], body.get("child_id"), parent.stage
    key = (name.casefold(), child_id or "")
    run = stage.by_child_id.get(key) if child_id is not None else None
    owned = run is None
    if run is None:
        try:
            run = _started(parent, name, body.get("input"), child_id)
        except InvalidInput as error:
            parent.ended(entry, End("failed", None, {"type": "InvalidInput", "message": str(error)}))
            return
        if child_id is not None:
            stage.by_child_id[key] = run
    parent.children.append(Child(entry, run, owned))
    if run.status == "running":
        run.on_end.append(lambda: parent.ended(entry, _end(run)))
    else:
        parent.ended(entry, _end(run))


def _started(parent: Parent, name: str, input: Any, child_id: str | None) -> Childlike:
    stage = parent.stage
    given = stage.children.get(name)
    if given is not None:
        return _Given(name, input, given)
    found = stage.documents(name, input)
    if found is not None:
        return _Document(stage, found)
    run = parent.child_run(stage.workflow(name), input, child_id)
    run.begin()
    return run


def _end(run: Childlike) -> End:
    error = run.error and {"type": run.error["type"], "message": run.error["message"]}
    return End(run.status, run.output if run.status == "succeeded" else None, error)


class _Over:
    """A child that has ended as it was started."""

    status: str = "succeeded"
    output: Any = None
    error: Any = None

    def __init__(self) -> None:
        self.on_end: list[Callable[[], None]] = []

    def begin(self) -> None:
        return

    def cancel(self) -> None:
        return

    def result(self) -> Any:
        return self


class _Given(_Over):
    """What a test's own function makes of the child's input."""

    def __init__(self, name: str, input: Any, call: Callable[[Any], Any]) -> None:
        super().__init__()
        self.workflow, self.input = name, input
        try:
            self.output = storable(call(input), max_bytes=1 << 20)[0]
        except Exception as error:  # noqa: BLE001 - what it raises is the child's failure
            told = describe_exception(error)
            self.status, self.error = "failed", {"type": told["type"], "message": told["message"]}


class _Document(_Over):
    """A declarative child, which has run to its end; its time passes then."""

    def __init__(self, stage: Stage, found: Any) -> None:
        super().__init__()
        self._found, self._stage, self.status = found, stage, "running"
        took: timedelta = found.duration
        stage.agenda.later(took.total_seconds(), self._end)

    def _end(self) -> None:
        if self.status == "running":
            self.status, self.output, self.error = self._found.status, self._found.output, self._found.error
            for told in self.on_end:
                told()

    def cancel(self) -> None:
        if self.status == "running":
            self.status = "canceled"
            for told in self.on_end:
                told()

    def result(self) -> Any:
        return self._found
