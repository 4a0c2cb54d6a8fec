"""`workflow`: start a run of a sub-workflow, and wait for its end (docs/adr/0017)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.graph import Plan
from orchestrator.domain.near import did_you_mean
from orchestrator.domain.outcome import ErrorInfo, Outcome, OutcomeKind
from orchestrator.domain.secret_fields import find_secrets, mask_fields
from orchestrator.domain.states import RunStatus
from orchestrator.domain.values import storable
from orchestrator.errors import ChildLoop, Conflict, ExpressionError, InvalidInput, UnstorableValue
from orchestrator.ids import new_id
from orchestrator.services.claim import failed
from orchestrator.services.engine import Engine
from orchestrator.services.halt import follow_up
from orchestrator.services.kinds.half import Half, Turn
from orchestrator.services.make_room import make_room
from orchestrator.services.pass_down import pass_to
from orchestrator.services.scope import RunScope
from orchestrator.services.start import Made, first_vars
from orchestrator.services.start_child import go_on_with, start_child, start_named
from orchestrator.services.start_plain import checked_input
from orchestrator.store import children, workflows
from orchestrator.store.runs import NewRun, RunFacts, as_json
from orchestrator.store.workflows import Revision

Begin = Callable[[Connection], Made]


def child(half: Half) -> Turn:
    """Start a run and wait for its end, whose output or error is the step's."""
    return _begin(half) if half.wait is None else Turn(_go_on(half, half.wait))


# The first half.


def _begin(half: Half) -> Turn:
    facts, settings = half.scope.facts, half.engine.settings
    if facts.depth >= settings.max_depth:
        most = f"none may lie deeper than {settings.max_depth} (ORCHESTRATOR_MAX_DEPTH)"
        return Turn(failed("DepthExceeded", f"this run lies {facts.depth} deep below the first one, and {most}"))
    name, input = _name(half), _input(half)
    app_id = workflows.find_app(half.conn, facts.app).id
    revision = workflows.find_revision(half.conn, app_id, name)
    if revision is None:
        near = did_you_mean(name, workflows.visible_names(half.conn, app_id))
        return Turn(failed("UnknownWorkflow", f"app '{facts.app}' has no workflow '{name:.255}'{near}"))
    earlier = _earlier(half, revision, input)
    if earlier is not None:
        plan = half.engine.plans.get(half.conn, earlier.revision_id)
        return Turn(_suspended(half, earlier.id, revision.workflow, _going_on(half, earlier.id)), _shown(plan, input))
    return _new(half, facts, app_id, revision, input)


def _name(half: Half) -> str:
    name = half.scope.render(half.step.workflow)
    if not isinstance(name, str) or not name.strip():
        raise ExpressionError(f"`workflow` must become the name of a workflow, not {name!r:.80}")
    return name


def _input(half: Half) -> Any:
    value = half.scope.render(half.step.input)
    try:
        return storable({} if value is None else value, max_bytes=half.engine.settings.max_output_bytes)[0]
    except UnstorableValue as error:
        raise ExpressionError(f"`input` cannot be stored: {error}") from error


def _earlier(half: Half, revision: Revision, input: Any) -> Row[Any] | None:
    """The run that this step started before it was opened again, if it is still what the step asks for."""
    if half.scope.plan.is_handler(half.claimed.position):  # it runs anew with each end of its run
        return None
    row = children.latest_child(half.conn, half.claimed.step_id)
    if row is None or not row.earlier_life or row.workflow_id != revision.workflow_id:
        return None
    if row.final_status is not None and not RunStatus(row.status).terminal:  # it is just being ended
        return None
    try:
        plan = half.engine.plans.get(half.conn, row.revision_id)
        return row if checked_input(half.engine, plan, input) == row.input else None
    except InvalidInput:
        return None


def _new(half: Half, facts: RunFacts, app_id: str, revision: Revision, input: Any) -> Turn:
    plan = half.engine.plans.of(revision)
    try:
        checked = checked_input(half.engine, plan, input)
        run = NewRun(
            id=new_id(),
            workflow_id=revision.workflow_id,
            revision_id=revision.id,
            app_id=app_id,
            input=checked,
            vars={},
            tags=list(plan.definition.tags),
            idempotency_key=None,
            step_count=len(plan.steps),
            timeout=plan.definition.timeout,
            root_id=facts.root_id,
            parent_run_id=facts.id,
            parent_step_id=half.claimed.step_id,
            depth=facts.depth + 1,
        )
        run = replace(run, vars=first_vars(_scope(half, facts, revision, plan, run)))
    except InvalidInput as error:
        return Turn(failed("InvalidInput", str(error)), _shown(plan, input))

    child_id = half.step.child_id

    def begin(conn: Connection) -> Made:
        if child_id is not None:
            return start_named(half.engine, conn, plan, run, child_id)
        return start_child(half.engine, conn, plan, run)

    return Turn(_suspended(half, run.id, revision.workflow, begin), _shown(plan, checked))


def _going_on(half: Half, run_id: str) -> Begin:
    return lambda conn: go_on_with(half.engine, conn, half.claimed.step_id, run_id)


def _shown(plan: Plan, input: Any) -> str:
    """The child's input as the step shows it: without what the child's schema says is secret."""
    schema = plan.definition.input_schema
    return as_json(find_secrets(schema, input).value(mask_fields(schema, input)))


def _scope(half: Half, parent: RunFacts, revision: Revision, plan: Plan, run: NewRun) -> RunScope:
    """What the templates of its variables see of a run that is not stored yet."""
    facts = replace(
        parent,
        id=run.id,
        revision_id=revision.id,
        workflow=revision.workflow,
        revision=revision.number,
        status=RunStatus.RUNNING,
        final_status=None,
        handler_stage=0,
        input=run.input,
        vars={},
        error=None,
        tags=list(run.tags),
        parent_run_id=run.parent_run_id,
        depth=run.depth,
        created_at=half.now,
        started_at=half.now,
    )
    return RunScope(half.engine, half.conn, plan, run.id, facts)


def _suspended(half: Half, run_id: str, workflow: str, begin: Begin) -> Outcome:
    start = _Start(half.engine, half.claimed.step_id, begin)
    wait = {"for": "child", "run_id": run_id, "workflow": workflow}
    return Outcome.suspended(wait, also=start.within, then=start.after)


@dataclass(slots=True)
class _Start:
    """The child's start: within the transaction that suspends its parent's step, and after its commit."""

    engine: Engine
    step_id: str
    begin: Begin
    begun: Made | None = None

    def within(self, conn: Connection) -> bool:
        """True when there is nothing to wait for: it has ended, or it is refused."""
        self.begun = None
        try:
            self.begun = self.begin(conn)
        except (Conflict, InvalidInput) as refused:
            kind = "ChildLoop" if isinstance(refused, ChildLoop) else "LimitReached"
            children.note_refused(conn, self.step_id, kind, str(refused))
            return True
        return self.begun.advanced.child_over

    def after(self) -> frozenset[str]:
        """What is to be stopped is stopped; a parent that was paused in between pauses it; the queues to dispatch."""
        if self.begun is None:
            return frozenset()
        run_id = self.begun.started.run_id
        queues = follow_up(self.engine, run_id, replace(self.begun.advanced, child_over=False))
        if self.begun.waits is not None:
            make_room(self.engine, *self.begun.waits)
        return queues | pass_to(self.engine, run_id)


# The second half.


def _go_on(half: Half, wait: Mapping[str, Any]) -> Outcome:
    run_id = wait["run_id"]
    if "refused" in wait:
        return Outcome.failed(ErrorInfo(wait["type"], wait["refused"], classes=(wait["type"],)))
    row = children.load_child(half.conn, run_id)
    if row is None:
        return failed("ChildDeleted", f"run {run_id}, for which it waited, was deleted")
    match RunStatus(row.status):
        case RunStatus.SUCCEEDED:
            value, text = storable(row.output, max_bytes=half.engine.most_bytes, blobs=True)
            return Outcome.succeeded(value, text)
        case RunStatus.FAILED:
            return Outcome.failed(_error(run_id, row))
        case RunStatus.CANCELED:
            return _canceled(run_id, row)
    if half.timeout is not None:
        return Outcome.timed_out(half.timeout)
    return Outcome.suspended(wait, also=lambda conn: children.is_over(conn, run_id))


def _error(run_id: str, row: Row[Any]) -> ErrorInfo:
    """The child's own error, and where it happened, which an error from further below says already."""
    error = row.error
    step = f"step '{error['step']}' of " if error.get("step") else ""
    where = "" if row.failed_below else f" ({step}run {run_id} of '{row.workflow}')"
    return ErrorInfo(error["type"], f"{error['message']}{where}", classes=(error["type"], "ChildFailed"))


def _canceled(run_id: str, row: Row[Any]) -> Outcome:
    """Another attempt would undo what a person did."""
    because = f": {row.cancel_reason}" if row.cancel_reason else ""
    message = f"run {run_id} of '{row.workflow}' was canceled{because}"
    error = ErrorInfo("ChildCanceled", message, classes=("ChildCanceled",))
    return Outcome(OutcomeKind.CANCELED, error=error, final=True)
