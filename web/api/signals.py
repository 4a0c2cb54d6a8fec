"""Events sent to runs, and approvals."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Response
from marshmallow import fields

from orchestrator.domain.roles import Role
from orchestrator.services.decide import decide
from orchestrator.services.signal import Signaled, signal
from orchestrator.store.reads import list_approvals
from orchestrator.store.reads.page import iso
from web.api.bodies import read_json
from web.api.fields import Count, OfApp, Paged, Strict, Text
from web.api.noun import Noun, answered, paged
from web.api.shapes.acts import ApprovalPage, SignaledShape
from web.api.use import app_seen, check_acts_on
from web.application import database, engine
from web.auth import actor

signals = Noun("signals", "Events that runs wait for, and approvals that wait for people.")

_PAYLOAD = {
    "requestBody": {
        "required": False,
        "description": "The payload itself: any JSON. Without a body it is null.",
        "content": {"application/json": {"schema": {}}},
    }
}


class ApprovalsQuery(Paged, OfApp):
    """Which approvals."""


class DecisionBody(Strict):
    """What goes with a decision."""

    fields = fields.Dict(  # type: ignore[assignment]
        load_default=dict, metadata={"description": "What was filled in, by the field's name."}
    )
    item = Count(
        load_default=None, allow_none=True, metadata={"description": "The index, where each item of the step asks."}
    )
    comment = Text(load_default=None, allow_none=True, most=10_000)


@signals.post(
    "/runs/<run_id>/signal/<name>", SignaledShape, role=Role.OPERATOR, refused=(400, 404, 409, 413, 415), doc=_PAYLOAD
)
def send(query: dict[str, Any], run_id: str, name: str) -> Response:
    """Send an event to a run

    The body is its payload. A step that waits for it takes it; else it is kept for one that will.
    """
    check_acts_on(run_id)
    payload = read_json(required=False, empty=None)
    return answered(_shown(signal(engine(), run_id, name, payload, actor=actor())))


@signals.get("/approvals", ApprovalPage, query=ApprovalsQuery, refused=(404,))
def list_open(query: dict[str, Any]) -> Response:
    """List the approvals that wait for people, oldest first"""
    with database().transaction() as conn:
        return paged(list_approvals(conn, app_seen(query["app"]), query["after"], query["limit"]))


_DECIDING: dict[str, Any] = {"role": Role.OPERATOR, "body": DecisionBody, "refused": (404, 409)}


@signals.post("/runs/<run_id>/steps/<step>/approve", SignaledShape, **_DECIDING)
def approve(query: dict[str, Any], body: dict[str, Any], run_id: str, step: str) -> Response:
    """Say yes to an approval

    With what its form asks for in `fields`.
    """
    return _decided(run_id, step, True, body)


@signals.post("/runs/<run_id>/steps/<step>/reject", SignaledShape, **_DECIDING)
def reject(query: dict[str, Any], body: dict[str, Any], run_id: str, step: str) -> Response:
    """Say no to an approval"""
    return _decided(run_id, step, False, body)


def _decided(run_id: str, step: str, approved: bool, body: dict[str, Any]) -> Response:
    check_acts_on(run_id)
    options = {"comment": body["comment"], "item": body["item"]}
    made = decide(engine(), run_id, step, approved, body["fields"], **options, actor=actor())
    return answered(_shown(made))


def _shown(made: Signaled) -> dict[str, Any]:
    earlier = None if made.earlier is None else asdict(made.earlier) | {"sent_at": iso(made.earlier.sent_at)}
    return {"id": made.id, "step": made.step, "item": made.item, "earlier": earlier}
