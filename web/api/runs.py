"""Runs: find them, start them, look at one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Response, request, url_for
from marshmallow import ValidationError, fields

from orchestrator.domain.roles import Role
from orchestrator.domain.states import RunStatus
from orchestrator.domain.tracing import read_traceparent
from orchestrator.domain.where import read_all, read_where
from orchestrator.errors import InvalidInput, Problem
from orchestrator.services.callers_trace import callers_trace
from orchestrator.services.start import start, start_many
from orchestrator.services.start_plain import StartOptions
from orchestrator.services.view import view
from orchestrator.store.reads import RunFilters, list_runs
from web.api.bodies import invalid_body
from web.api.fields import AnyJson, Count, Name, OfApp, Paged, Strict, Text, When, Whole, absent, one_of
from web.api.noun import Noun, answered, paged
from web.api.shapes.base import Shape, texts
from web.api.shapes.runs import RunPage, RunShape
from web.api.use import app_seen, check_app
from web.application import database, engine
from web.auth import actor

runs = Noun("runs", "Runs of workflows: find them, start them, look at one.")

_MOST_STARTS = 10_000
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key again, for the same workflow and app, gives the run that was started first.",
    "schema": {"type": "string", "maxLength": 1000},
}
_TRACE = {
    "name": "traceparent",
    "in": "header",
    "required": False,
    "description": "The span (W3C Trace Context) that starts it, whose trace the run joins. What is none is ignored.",
    "schema": {"type": "string"},
}
_TAGS = fields.List(Text(most=255), load_default=(), metadata={"description": "In addition to those of the workflow."})
_REVISION = Count(least=1, load_default=None, allow_none=True, metadata={"description": "Default: the latest."})


class WhereText(Text):
    """A condition on a value of the input."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **given: Any) -> Any:
        words = super()._deserialize(value, attr, data, **given)
        try:
            return read_where(words).text
        except InvalidInput as error:
            raise ValidationError(error.problems[0].message) from error


class RunsQuery(Paged, OfApp):
    """Which runs: those for which all that is given holds."""

    workflow = Name(load_default=absent, metadata={"description": "Of this workflow."})
    status = fields.List(
        one_of(RunStatus), load_default=(), metadata={"description": "With this status; several: any of them."}
    )
    tag = fields.List(Text(most=255), load_default=(), metadata={"description": "With this tag; several: all of them."})
    created_after = When(load_default=absent, metadata={"description": "Created at this time or later."})
    created_before = When(load_default=absent, metadata={"description": "Created before this time."})
    error = Text(load_default=absent, metadata={"description": "With this text in the message of the error."})
    where = fields.List(
        WhereText(most=1000),
        load_default=(),
        metadata={
            "description": "With this value in the input (of up to 1,000 bytes): `input.customer.id=42`,"
            ' `input.items[].sku="a b"`; several: all of them. Secret values find nothing.'
        },
    )
    children_of = fields.UUID(load_default=absent, metadata={"description": "Started by steps of this run."})
    roots_only = fields.Boolean(load_default=False, metadata={"description": "Not started by a step of another run."})
    schedule = Name(load_default=absent, metadata={"description": "Started by this schedule."})


class OneWorkflowsQuery(RunsQuery):
    """Which runs of one workflow."""

    class Meta:
        exclude = ("workflow",)


class StartBody(Strict):
    """How to start a run of a workflow."""

    input = AnyJson(load_default=None, metadata={"description": "Default: an empty map."})
    app = Name(load_default=None, allow_none=True, metadata={"description": "As this app sees the workflow."})
    tags = _TAGS
    revision = _REVISION
    idempotency_key = Text(
        load_default=None, allow_none=True, metadata={"description": "As the header Idempotency-Key."}
    )


class StartNamedBody(StartBody):
    """Which workflow to start a run of, and how."""

    workflow = Name(required=True)


class BatchBody(Strict):
    """Inputs to start a run for each."""

    workflow = Name(required=True)
    inputs = fields.List(
        AnyJson(), required=True, validate=lambda value: _few_enough(value), metadata={"maxItems": _MOST_STARTS}
    )
    app = Name(load_default=None, allow_none=True)
    tags = _TAGS
    revision = _REVISION


class BatchShape(Shape):
    ids = texts("The runs, in the order of the inputs.")


def _few_enough(inputs: list[Any]) -> None:
    if len(inputs) > _MOST_STARTS:
        raise invalid_body(Problem("inputs", f"may be {_MOST_STARTS} at most"))


def filters_of(query: Mapping[str, Any], workflow: str | None = None) -> RunFilters:
    """The filters of a query or a body."""
    children_of = query.get("children_of")
    return RunFilters(
        workflow=workflow or query.get("workflow"),
        statuses=tuple(RunStatus(status) for status in query["status"]),
        app=app_seen(query["app"]),
        tags=tuple(query["tag"]),
        created_after=query["created_after"],
        created_before=query["created_before"],
        error=query["error"] or None,
        children_of=str(children_of) if children_of is not None else None,
        roots_only=query["roots_only"],
        schedule=query["schedule"],
        where=read_all(query["where"]),
    )


@runs.get("/runs", RunPage, query=RunsQuery, refused=(404,))
def list_all(query: dict[str, Any]) -> Response:
    """List runs, newest first

    Those for which all filters hold.
    """
    with database().transaction() as conn:
        return paged(list_runs(conn, filters_of(query), query["after"], query["limit"]))


@runs.get("/workflows/<name>/runs", RunPage, query=OneWorkflowsQuery, refused=(404,))
def list_of_workflow(query: dict[str, Any], name: str) -> Response:
    """List the runs of a workflow, newest first"""
    with database().transaction() as conn:
        return paged(list_runs(conn, filters_of(query, name), query["after"], query["limit"]))


_STARTING: dict[str, Any] = {
    "role": Role.OPERATOR,
    "status": 201,
    "also": (200,),
    "refused": (404, 409),
    "doc": {"parameters": [_KEY, _TRACE]},
}


@runs.post("/runs", RunShape, body=StartNamedBody, **_STARTING)
def start_one(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Start a run

    201: it was started; 200: a run was started with this idempotency key before, and this is it.
    """
    return _started(body["workflow"], body)


@runs.post("/workflows/<name>/runs", RunShape, body=StartBody, **_STARTING)
def start_of_workflow(query: dict[str, Any], body: dict[str, Any], name: str) -> Response:
    """Start a run of a workflow

    As `POST /runs`, with the workflow in the path.
    """
    return _started(name, body)


def _started(workflow: str, body: Mapping[str, Any]) -> Response:
    options = StartOptions(
        app_seen(body["app"]), body["tags"], _key(body), body["revision"], actor=actor(), traceparent=_traceparent()
    )
    made = start(engine(), workflow, body["input"], options)
    return answered(
        view(engine(), made.run_id), 201 if made.created else 200, Location=url_for("api-runs.show", run_id=made.run_id)
    )


def _traceparent() -> str | None:
    """Of this process's own span, where it is traced; else of the caller's."""
    given = request.headers.get("traceparent")
    return callers_trace() or (given if read_traceparent(given) is not None else None)


def _key(body: Mapping[str, Any]) -> str | None:
    in_body, in_header = body["idempotency_key"], request.headers.get("Idempotency-Key")
    if in_body is not None and in_header is not None and in_body != in_header:
        raise invalid_body(Problem("idempotency_key", "is not that of the header Idempotency-Key"))
    key: str | None = in_header if in_body is None else in_body
    return key


@runs.post(
    "/runs/batch",
    BatchShape,
    role=Role.OPERATOR,
    status=201,
    body=BatchBody,
    refused=(404, 409),
    doc={"parameters": [_TRACE]},
)
def start_batch(query: dict[str, Any], body: dict[str, Any]) -> Response:
    """Start a run for each of many inputs

    All of them or none, in one transaction, and many times faster than one by one.
    """
    traced = _traceparent()
    options = StartOptions(app_seen(body["app"]), body["tags"], None, body["revision"], actor(), traced)
    made = start_many(engine(), body["workflow"], body["inputs"], options)
    return answered({"ids": [one.run_id for one in made]}, 201)


@runs.get("/runs/<run_id>", RunShape, query=Whole, refused=(404,))
def show(query: dict[str, Any], run_id: str) -> Response:
    """Show a run"""
    run = view(engine(), run_id, whole=not query["references"])
    check_app(run["app"], run_id)
    return answered(run)
