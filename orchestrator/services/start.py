"""Start a run: its row and all its steps in one transaction, then the first steps to their queues."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.cascade import Change, StepRow, cascade
from orchestrator.domain.definition import OnLimit
from orchestrator.domain.expressions import compile_template
from orchestrator.domain.graph import Plan
from orchestrator.domain.states import StepStatus
from orchestrator.domain.values import storable
from orchestrator.errors import Conflict, ExpressionError, InvalidInput, NotFound, Problem, UnstorableValue
from orchestrator.ids import new_id, new_ids
from orchestrator.services.admit import first_steps
from orchestrator.services.advance import conclude
from orchestrator.services.advanced import Advanced
from orchestrator.services.close import new_row
from orchestrator.services.dispatch import dispatch_starts
from orchestrator.services.engine import Engine
from orchestrator.services.halt import follow_up
from orchestrator.services.make_room import make_room
from orchestrator.services.scope import RunScope
from orchestrator.services.start_plain import (
    Plainly,
    Started,
    StartOptions,
    checked_input,
    start_plainly,
    told_which,
)
from orchestrator.store import active, children, events, runs, steps, workflows
from orchestrator.store.db import calls_in, read_as_ours
from orchestrator.store.runs import NewRun
from orchestrator.store.steps import NewStep
from orchestrator.store.workflows import Revision

_MOST_KEY = 1000  # bytes of a limit's key


def start(
    engine: Engine,
    name: str,
    input: Any = None,
    options: StartOptions | None = None,
    connection: Connection | None = None,
) -> Started:
    """Start a run of the workflow `name` as the app sees it.

    With `connection` everything happens in the caller's transaction, and the first steps are dispatched once it is
    committed, by the coordinator at the latest. Raises `NotFound` and `InvalidInput`, and `ValueError` for a
    connection of another driver than psycopg2; no run is made then.
    """
    options = options or StartOptions()
    if connection is not None:
        with read_as_ours(connection):
            return _start_in(connection, engine, name, input, options)
    plainly = start_plainly(engine, name, [input], options)
    return _start_by_rules(engine, name, input, options) if plainly is None else _sent(engine, plainly)[0]


def _start_in(connection: Connection, engine: Engine, name: str, input: Any, options: StartOptions) -> Started:
    made = start_within(engine, connection, name, input, options)
    dispatch_starts(engine, made.advanced.queues, connection)
    return made.started


def start_within(engine: Engine, conn: Connection, name: str, input: Any, options: StartOptions) -> Made:
    """Start as a part of a transaction of ours, after whose commit `to_dispatch` is to be called. Raises as `start`."""
    plainly = start_plainly(engine, name, [input], options, conn)
    if plainly is None:
        return _start(engine, conn, name, input, options)
    (started,), queues = plainly
    return Made(started, Advanced(others=queues))


def _sent(engine: Engine, plainly: Plainly) -> list[Started]:
    started, queues = plainly
    dispatch_starts(engine, queues)
    return started


def start_many(engine: Engine, name: str, inputs: Sequence[Any], options: StartOptions | None = None) -> list[Started]:
    """Start a run for each input, in the order of the inputs, all in one transaction: all of them or none.

    Raises `NotFound`, `InvalidInput` whose paths say which input (`inputs[3].amount`), and `ValueError` with an
    idempotency key, which belongs to one run.
    """
    options = options or StartOptions()
    if options.idempotency_key is not None:
        raise ValueError("an idempotency key belongs to one run")
    if not inputs:
        return []
    plainly = start_plainly(engine, name, inputs, options)
    return _start_all_by_rules(engine, name, inputs, options) if plainly is None else _sent(engine, plainly)


def _start_all_by_rules(engine: Engine, name: str, inputs: Sequence[Any], options: StartOptions) -> list[Started]:
    made: list[Made] = []
    with engine.db.transaction() as conn:
        _lock_limits(engine, conn, name, inputs, options)
        for place, input in enumerate(inputs):
            with told_which(place, inputs):
                made.append(_start(engine, conn, name, input, options))
    follow(engine, made)
    return [one.started for one in made]


def _lock_limits(engine: Engine, conn: Connection, name: str, inputs: Sequence[Any], options: StartOptions) -> None:
    """Take the locks of all limits in one order, whatever that of the inputs is (docs/adr/0003)."""
    app_id, revision = _find(engine, conn, name, options)
    plan = engine.plans.of(revision)
    if plan.definition.max_active_runs is None:
        return
    keys = set()
    for place, input in enumerate(inputs):
        with told_which(place, inputs):
            keys.add(_limit_key(plan, _new_run(engine, plan, revision, app_id, input, options)))
    for key in sorted(keys):
        active.lock_limit(conn, revision.workflow_id, key)


def _start_by_rules(engine: Engine, name: str, input: Any, options: StartOptions) -> Started:
    with engine.db.transaction() as conn:
        made = _start(engine, conn, name, input, options)
    follow(engine, [made])
    return made.started


@dataclass(frozen=True, slots=True)
class Made:
    """A start within its transaction. `waits`: the (workflow_id, key) of the limit it waits for a turn under."""

    started: Started
    advanced: Advanced = Advanced()
    waits: tuple[str, str] | None = None


def follow(engine: Engine, made: Sequence[Made]) -> None:
    """After the commit: what is to be stopped is stopped, what may start is dispatched."""
    dispatch_starts(engine, to_dispatch(engine, made))


def to_dispatch(engine: Engine, made: Sequence[Made]) -> set[str]:
    """After the commit: what is to be stopped is stopped; the queues in which steps may start."""
    queues = {queue for one in made for queue in follow_up(engine, one.started.run_id, one.advanced)}
    for waits in {one.waits for one in made if one.waits is not None}:
        make_room(engine, *waits)
    return queues


def _start(engine: Engine, conn: Connection, name: str, input: Any, options: StartOptions) -> Made:
    app_id, revision = _find(engine, conn, name, options)
    key = options.idempotency_key
    earlier = _started_before(conn, revision, app_id, key)
    if earlier is not None:
        return earlier
    plan = engine.plans.of(revision)
    run = _new_run(engine, plan, revision, app_id, input, options)
    try:
        run = in_turn(engine, conn, plan, run)
    except Conflict:
        earlier = _started_before(conn, revision, app_id, key)  # whose run fills the limit it may be
        if earlier is None:
            raise
        return earlier
    if not runs.insert_run(conn, run):  # another start with the same key won since
        earlier = _started_before(conn, revision, app_id, key)
        return earlier or Made(Started(run.id, created=False))
    set_vars(engine, conn, plan, run.id)
    events.record(conn, run.id, "run.started", options.told)
    return begin(engine, conn, plan, run)


def begin(engine: Engine, conn: Connection, plan: Plan, run: NewRun) -> Made:
    """Make the steps of a run just inserted, and start the first ones when it is its turn."""
    started = Started(run.id, created=True)
    if run.pending:
        steps.insert_steps(conn, run.id, fresh_rows(plan))
        return Made(started, waits=(run.workflow_id, run.limit_key or ""))
    return Made(started, start_steps(engine, conn, plan, run.id))


def _started_before(conn: Connection, revision: Revision, app_id: str, key: str | None) -> Made | None:
    """The run that was started with this idempotency key."""
    earlier = None if key is None else runs.find_by_key(calls_in(conn), revision.workflow_id, app_id, key)
    return None if earlier is None else Made(Started(earlier, created=False))


def in_turn(engine: Engine, conn: Connection, plan: Plan, run: NewRun) -> NewRun:
    """The run as its workflow's limit lets it start: at once, in its turn, or not at all (`Conflict`)."""
    most = plan.definition.max_active_runs
    if most is None:
        return run
    key = _limit_key(plan, run)
    if run.parent_run_id is not None and children.has_turn(conn, run.parent_run_id, run.workflow_id, key):
        return run  # it has its turn with a run above it, for whose end it would wait for ever
    active.lock_limit(conn, run.workflow_id, key)
    full = active.count_active(conn, run.workflow_id, key) >= most
    if full and plan.definition.on_limit is OnLimit.REJECT:
        of = f" of {key}" if key else ""
        raise Conflict(f"{most} runs{of} are active already, which is the workflow's limit (max_active_runs)")
    others_wait = active.next_pending(conn, run.workflow_id, key) is not None
    return replace(run, limit_key=key, pending=full or others_wait)


def _limit_key(plan: Plan, run: NewRun) -> str:
    """The JSON text of `concurrency_key`, rendered over the run's input; nothing without one."""
    if plan.definition.concurrency_key is None:
        return ""
    try:
        value = compile_template(plan.definition.concurrency_key).render({"input": run.input})
        return storable(value, max_bytes=_MOST_KEY)[1]
    except (ExpressionError, UnstorableValue) as error:
        raise InvalidInput([Problem("concurrency_key", str(error))], "the run's limit could not be told") from error


def _find(engine: Engine, conn: Connection, name: str, options: StartOptions) -> tuple[str, Revision]:
    app = options.app or engine.settings.app
    app_id = workflows.find_app(conn, app).id
    revision = workflows.find_revision(conn, app_id, name, options.revision)
    if revision is not None:
        return app_id, revision
    names = workflows.visible_names(conn, app_id)
    near = difflib.get_close_matches(name, names, 1)
    numbered = f" with revision {options.revision}" if options.revision is not None else ""
    hint = f"; did you mean '{near[0]}'?" if near and near[0] != name else ""
    raise NotFound(f"app '{app}' has no workflow '{name}'{numbered}{hint}")


def _new_run(engine: Engine, plan: Plan, revision: Revision, app_id: str, input: Any, options: StartOptions) -> NewRun:
    return NewRun(
        id=new_id(),
        workflow_id=revision.workflow_id,
        revision_id=revision.id,
        app_id=app_id,
        input=checked_input(engine, plan, {} if input is None else input),
        vars={},
        tags=[*plan.definition.tags, *options.tags],
        idempotency_key=options.idempotency_key,
        step_count=len(plan.steps),
        timeout=plan.definition.timeout,
    )


def set_vars(engine: Engine, conn: Connection, plan: Plan, run_id: str) -> None:
    """Render the first values of the run's variables; a template that cannot be rendered refuses the start."""
    if plan.definition.vars:
        runs.publish_vars(conn, run_id, first_vars(RunScope(engine, conn, plan, run_id)))


def first_vars(scope: RunScope) -> dict[str, Any]:
    """The first values of the run's variables; raises `InvalidInput`."""
    rendered, problems = {}, []
    for name, template in scope.plan.definition.vars.items():
        try:
            rendered[name] = scope.render(template)
        except ExpressionError as error:
            problems.append(Problem(f"vars.{name}", str(error)))
    problems += _unstorable(scope.engine, rendered)
    if problems:
        raise InvalidInput(problems, "the run's variables could not be made from its input")
    return rendered


def _unstorable(engine: Engine, variables: Mapping[str, Any]) -> list[Problem]:
    try:
        storable(variables, max_bytes=engine.settings.max_output_bytes)
    except UnstorableValue as error:
        return [Problem(error.path.replace("$", "vars", 1), str(error).split(": ", 1)[-1])]
    return []


def start_steps(engine: Engine, conn: Connection, plan: Plan, run_id: str) -> Advanced:
    """Decide the roots in memory, insert every step as decided, and end the run if nothing is open."""
    scope = RunScope(engine, conn, plan, run_id)
    fresh = fresh_rows(plan)
    rows = {row.position: StepRow(row.position, StepStatus.PENDING, row.tally) for row in fresh}
    result = cascade(plan, [], lambda wanted: {p: rows[p] for p in wanted}, scope, first_steps(plan))
    changes = {change.position: change for change in result.changes}
    steps.insert_steps(conn, run_id, [_decided(row, changes.get(row.position)) for row in fresh])
    return conclude(conn, scope, [], result)


def fresh_rows(plan: Plan) -> list[NewStep]:
    """The rows of a run to which nothing has happened."""
    ids = new_ids(len(plan.steps))
    return [replace(new_row(step, StepStatus.PENDING), id=id) for step, id in zip(plan.steps, ids, strict=True)]


def _decided(row: NewStep, change: Change | None) -> NewStep:
    if change is None:
        return row
    return replace(
        row,
        tally=change.tally,
        edge_truth=change.edge_truth,
        status=change.status or row.status,
        reason=change.reason,
        error=change.error.as_json() if change.error else None,
        output=change.output,
        queue=change.queue,
    )
