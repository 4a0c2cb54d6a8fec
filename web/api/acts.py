"""What people do to a run."""

from __future__ import annotations

from typing import Any

from flask import Response, url_for
from marshmallow import fields

from orchestrator.domain.roles import Role
from orchestrator.domain.states import StepStatus
from orchestrator.services.cancel import cancel
from orchestrator.services.delete import delete
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.services.view import view
from web.api.fields import AnyJson, Name, Strict, Text, WhichRevision, one_of
from web.api.noun import Noun, answered
from web.api.shapes.acts import ActedShape, OpenedShape, RerunShape
from web.api.use import check_acts_on
from web.application import engine
from web.auth import actor

acts = Noun("acts", "What people do to a run; each act is in the audit log with who, when and why.")

_ACTING: dict[str, Any] = {"role": Role.OPERATOR, "refused": (404, 409)}


class ReasonBody(Strict):
    """Why."""

    reason = Text(load_default=None, allow_none=True, metadata={"description": "Why, for the audit log."})


class CancelBody(ReasonBody):
    """How, and why."""

    force = fields.Boolean(load_default=False, metadata={"description": "Cut off what is running."})


class RerunBody(ReasonBody):
    """What is different this time, and why."""

    input = AnyJson(load_default=None, metadata={"description": "Default: that of the run."})
    revision = WhichRevision(load_default="same")
    from_steps = fields.List(
        Name(), load_default=(), metadata={"description": "Run these, and what depends on them; keep the others."}
    )


class StepBody(ReasonBody):
    """Which step, and why."""

    step = Name(required=True)


class MarkBody(StepBody):
    """How the step ended, and why."""

    status = one_of((StepStatus.SUCCEEDED, StepStatus.SKIPPED), required=True)
    output = AnyJson(load_default=None, metadata={"description": "What it gave, of one that succeeded."})
    force = fields.Boolean(load_default=False, metadata={"description": "Also one that is running, which is cut off."})


def _after(run_id: str, **more: Any) -> Response:
    """The run as it is then."""
    return answered({"run": view(engine(), run_id), **more})


@acts.post("/runs/<run_id>/cancel", ActedShape, body=CancelBody, **_ACTING)
def cancel_run(query: dict[str, Any], body: dict[str, Any], run_id: str) -> Response:
    """Cancel a run

    Running steps end first, unless `force` cuts them off; the run is `canceling` until then.
    """
    check_acts_on(run_id)
    cancel(engine(), run_id, actor=actor(), **body)
    return _after(run_id)


class DeleteQuery(Strict):
    """Why."""

    reason = Text(load_default=None, metadata={"description": "Why, for the audit log."})


@acts.add("DELETE", "/runs/<run_id>", Role.ADMIN, None, status=204, query=DeleteQuery, refused=(404, 409))
def delete_run(query: dict[str, Any], run_id: str) -> Response:
    """Remove a run that has ended

    With all that is its own, and the runs below it. The audit log keeps what people did to it; its idempotency key is
    free again. 409: it is open, or a run below it is, or it is itself below another.
    """
    check_acts_on(run_id)
    delete(engine(), run_id, reason=query["reason"], actor=actor())
    return Response(status=204)


@acts.post("/runs/<run_id>/pause", ActedShape, body=ReasonBody, **_ACTING)
def pause_run(query: dict[str, Any], body: dict[str, Any], run_id: str) -> Response:
    """Pause a run

    Nothing new of it starts until it is resumed.
    """
    check_acts_on(run_id)
    pause(engine(), run_id, actor=actor(), **body)
    return _after(run_id)


@acts.post("/runs/<run_id>/resume", ActedShape, body=ReasonBody, **_ACTING)
def resume_run(query: dict[str, Any], body: dict[str, Any], run_id: str) -> Response:
    """Let a paused run go on"""
    check_acts_on(run_id)
    resume(engine(), run_id, actor=actor(), **body)
    return _after(run_id)


@acts.post("/runs/<run_id>/retry", OpenedShape, body=ReasonBody, **_ACTING)
def retry_run(query: dict[str, Any], body: dict[str, Any], run_id: str) -> Response:
    """Let a failed or canceled run go on

    Failed and canceled steps run again, and what depended on them; succeeded ones do not.
    """
    check_acts_on(run_id)
    return _after(run_id, opened=retry(engine(), run_id, actor=actor(), **body))


@acts.post("/runs/<run_id>/rerun", RerunShape, body=RerunBody, status=201, **_ACTING)
def rerun_run(query: dict[str, Any], body: dict[str, Any], run_id: str) -> Response:
    """Run a run once more

    As a new run, which is the answer. With `from_steps` the steps that do not depend on these keep their ends.
    """
    check_acts_on(run_id)
    made = rerun(engine(), run_id, actor=actor(), **body)
    shown = {"run": view(engine(), made.run_id), "kept": made.kept, "failing": list(made.failing)}
    return answered(shown, 201, Location=url_for("api-runs.show", run_id=made.run_id))


@acts.post("/runs/<run_id>/mark", OpenedShape, body=MarkBody, **_ACTING)
def mark_step(query: dict[str, Any], body: dict[str, Any], run_id: str) -> Response:
    """Say how a step ended

    Instead of what it did. A failed or canceled run goes on with it.
    """
    check_acts_on(run_id)
    step, status = body.pop("step"), StepStatus(body.pop("status"))
    return _after(run_id, opened=mark(engine(), run_id, step, status, actor=actor(), **body))


@acts.post("/runs/<run_id>/hold", ActedShape, body=StepBody, **_ACTING)
def hold_step(query: dict[str, Any], body: dict[str, Any], run_id: str) -> Response:
    """Keep a step from starting until it is released"""
    check_acts_on(run_id)
    hold(engine(), run_id, body["step"], reason=body["reason"], actor=actor())
    return _after(run_id)


@acts.post("/runs/<run_id>/release", ActedShape, body=StepBody, **_ACTING)
def release_step(query: dict[str, Any], body: dict[str, Any], run_id: str) -> Response:
    """Let a held step go on"""
    check_acts_on(run_id)
    release(engine(), run_id, body["step"], reason=body["reason"], actor=actor())
    return _after(run_id)
