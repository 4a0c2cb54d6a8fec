"""Start runs in one statement, where no rule and no template decides how they start (`sites.plain_start`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.describe import clean_text
from orchestrator.domain.graph import Plan
from orchestrator.domain.inputs import check_input
from orchestrator.domain.values import storable
from orchestrator.errors import InvalidInput, Problem, UnstorableValue
from orchestrator.ids import new_ids
from orchestrator.services.callers_trace import callers_trace
from orchestrator.services.engine import Engine
from orchestrator.store import batch, runs, workflows
from orchestrator.store.batch import NewRuns, NewSteps
from orchestrator.store.db import Call, calls_in
from orchestrator.store.workflows import Found, Wanted

_MOST_KEY = 1000  # bytes of an idempotency key: it is indexed


@dataclass(frozen=True, slots=True)
class Started:
    """`created` is False when the idempotency key belongs to a run that was started before."""

    run_id: str
    created: bool


@dataclass(frozen=True, slots=True)
class StartOptions:
    """`revision` None is the latest; `app` None the configured one. `traceparent`: the caller's span, where it has one.

    Raises `InvalidInput` for a key that cannot be kept.
    """

    app: str | None = None
    tags: Sequence[str] = ()
    idempotency_key: str | None = None
    revision: int | None = None
    actor: str = "cli"
    traceparent: str | None = field(default_factory=callers_trace)

    @property
    def told(self) -> dict[str, str]:
        """What the first event of the run says."""
        return {"actor": self.actor} | ({"traceparent": self.traceparent} if self.traceparent else {})

    def __post_init__(self) -> None:
        key = self.idempotency_key
        if key is not None and (clean_text(key, _MOST_KEY) != key or len(key.encode()) > _MOST_KEY):
            told = f"must be text without NUL, of {_MOST_KEY} bytes at most"
            raise InvalidInput([Problem("idempotency_key", told)], "the run was not started")


class _Moved(Exception):
    """The app saw another revision, or none."""


@dataclass(frozen=True, slots=True)
class _Start:
    """What is to be started, and how statements are told to the database."""

    engine: Engine
    connection: Connection | None
    wanted: Wanted
    inputs: Sequence[Any]
    options: StartOptions

    @property
    def call(self) -> Call:
        return self.engine.db.call if self.connection is None else calls_in(self.connection)

    def find(self) -> Found | None:
        """What the app sees under the name now; remembered for the next start."""
        found = workflows.find_ids(self.call, self.wanted)
        if found is not None:
            self.engine.found.put(self.wanted, found)
        return found

    def plan(self, revision_id: str) -> Plan:
        if self.connection is None:
            return self.engine.plan(revision_id)
        return self.engine.plans.get(self.connection, revision_id)


Plainly = tuple[list[Started], frozenset[str]]  # also the queues to dispatch


def start_plainly(
    engine: Engine, name: str, inputs: Sequence[Any], options: StartOptions, connection: Connection | None = None
) -> Plainly | None:
    """Start a run for each input, all or none. None when the start is not plain, or the workflow not found.

    One round trip for a revision that was started before: the statement makes no run when the app sees another one
    now. With `connection` it is part of that transaction. Raises `InvalidInput`; no run is made then.
    """
    wanted = Wanted.of(options.app or engine.settings.app, name, options.revision)
    start = _Start(engine, connection, wanted, inputs, options)
    known = engine.found.get(wanted)
    if known is not None and options.idempotency_key is None:
        with suppress(_Moved, InvalidInput):  # it may be an input for a newer revision
            made = _start(start, known)
            if made is not None:
                return made
    while True:
        found = start.find()
        with suppress(_Moved):
            return None if found is None else _start(start, found)


def _start(start: _Start, found: Found) -> Plainly | None:
    engine, options = start.engine, start.options
    plan = start.plan(found.revision_id)
    steps = engine.sites.start_of(found.revision_id, plan, engine.functions)
    if steps is None:
        return None
    earlier = _started_before(start, found)
    if earlier is not None:
        return [earlier], frozenset()
    texts = [_input_text(engine, plan, place, start.inputs) for place in range(len(start.inputs))]
    new = NewRuns(
        inputs=dict(zip(new_ids(len(texts)), texts, strict=True)),
        wanted=start.wanted,
        found=found,
        tags=[*plan.definition.tags, *options.tags],
        idempotency_key=options.idempotency_key,
        timeout=plan.definition.timeout,
        told=options.told,
    )
    return _insert(start, new, steps)


def _insert(start: _Start, new: NewRuns, steps: NewSteps) -> Plainly:
    queues = batch.start_runs(start.call, new, steps)
    if queues is None:  # another start with the same key won since, or it was not to be seen just then
        earlier = _started_before(start, new.found)
        if earlier is None:
            raise _Moved
        return [earlier], frozenset()
    return [Started(id, created=True) for id in new.inputs], queues


def _started_before(start: _Start, found: Found) -> Started | None:
    key = start.options.idempotency_key
    earlier = None if key is None else runs.find_by_key(start.call, found.workflow_id, found.app_id, key)
    return None if earlier is None else Started(earlier, created=False)


def _input_text(engine: Engine, plan: Plan, place: int, inputs: Sequence[Any]) -> str:
    with told_which(place, inputs):
        return runs.as_json(checked_input(engine, plan, {} if inputs[place] is None else inputs[place]))


def checked_input(engine: Engine, plan: Plan, input: Any) -> Any:
    """The input as it is stored, with the schema's defaults; raises `InvalidInput`."""
    try:
        value, _ = storable(input, max_bytes=engine.settings.max_output_bytes)
    except UnstorableValue as error:
        raise InvalidInput([Problem(error.path.replace("$", "input", 1), str(error).split(": ", 1)[-1])]) from error
    schema = plan.definition.input_schema
    return value if schema is None else check_input(schema, value)


@contextmanager
def told_which(place: int, inputs: Sequence[Any]) -> Iterator[None]:
    """Let the paths of `InvalidInput` say which of several inputs is meant."""
    try:
        yield
    except InvalidInput as error:
        if len(inputs) == 1:
            raise
        there = [Problem(p.path.replace("input", f"inputs[{place}]", 1), p.message, p.hint) for p in error.problems]
        raise InvalidInput(there, error.headline) from error
