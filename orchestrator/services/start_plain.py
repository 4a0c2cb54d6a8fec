"""Start runs in one statement, where no rule and no template decides how they start (`sites.plain_start`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.graph import Plan
from orchestrator.domain.inputs import check_input
from orchestrator.domain.values import storable
from orchestrator.errors import InvalidInput, Problem, UnstorableValue
from orchestrator.ids import new_ids
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.store import batch, runs, workflows
from orchestrator.store.batch import NewRuns, NewSteps


@dataclass(frozen=True, slots=True)
class Started:
    """`created` is False when the idempotency key belongs to a run that was started before."""

    run_id: str
    created: bool


@dataclass(frozen=True, slots=True)
class StartOptions:
    """`revision` None is the latest; `app` None the configured one."""

    app: str | None = None
    tags: Sequence[str] = ()
    idempotency_key: str | None = None
    revision: int | None = None
    actor: str = "cli"


def start_plainly(engine: Engine, name: str, inputs: Sequence[Any], options: StartOptions) -> list[Started] | None:
    """Start a run for each input, all or none. None when the start is not plain, or the workflow not found.

    Raises `InvalidInput`; no run is made then.
    """
    found = workflows.find_ids(engine.db, options.app or engine.settings.app, name, options.revision)
    if found is None:
        return None
    revision_id, workflow_id, app_id = found
    plan = engine.plan(revision_id)
    steps = engine.sites.start_of(revision_id, plan, engine.functions)
    if steps is None:
        return None
    earlier = _started_before(engine, workflow_id, app_id, options.idempotency_key)
    if earlier is not None:
        return [earlier]
    texts = [_input_text(engine, plan, place, inputs) for place in range(len(inputs))]
    new = NewRuns(
        inputs=dict(zip(new_ids(len(inputs)), texts, strict=True)),
        workflow_id=workflow_id,
        revision_id=revision_id,
        app_id=app_id,
        tags=[*plan.definition.tags, *options.tags],
        idempotency_key=options.idempotency_key,
        timeout=plan.definition.timeout,
        actor=options.actor,
    )
    return _insert(engine, new, steps)


def _insert(engine: Engine, new: NewRuns, steps: NewSteps) -> list[Started]:
    made = batch.start_runs(engine.db, new, steps)
    if not made:  # another start with the same key won since
        earlier = _started_before(engine, new.workflow_id, new.app_id, new.idempotency_key)
        assert earlier is not None
        return [earlier]
    dispatch(engine, steps.queues)
    return [Started(id, created=True) for id in new.inputs]


def _started_before(engine: Engine, workflow_id: str, app_id: str, key: str | None) -> Started | None:
    if key is None:
        return None
    with engine.db.transaction() as conn:
        earlier = runs.find_by_key(conn, workflow_id, app_id, key)
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
