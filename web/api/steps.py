"""Steps of a run: all of them, and one with its items and attempts."""

from __future__ import annotations

from typing import Any

from flask import Response
from marshmallow import fields

from orchestrator.domain.states import StepStatus
from orchestrator.services.why import why
from orchestrator.store.reads import get_item, get_step, list_attempts, list_items, list_steps, run_now
from orchestrator.store.reads.whole import Read
from web.api.fields import Count, Paged, Strict, Whole, absent, one_of
from web.api.noun import Noun, answered, paged
from web.api.shapes.runs import AttemptsShape, ItemPage, ItemShape, StepPage, StepShape, WhyShape
from web.api.use import looking_at
from web.application import engine
from web.auth import current_identity

steps = Noun("steps", "Steps of a run, in the order of its graph.")


class StepsQuery(Paged):
    """Which steps or items."""

    status = fields.List(
        one_of(StepStatus), load_default=(), metadata={"description": "With this status; several: any of them."}
    )


class ItemQuery(Strict):
    """Of what."""

    item = Count(load_default=absent, metadata={"description": "Of the item with this index, in place of the step."})


def _read(query: dict[str, Any]) -> Read | None:
    return None if query["references"] else engine().blobs.shown


def _statuses(query: dict[str, Any]) -> list[StepStatus]:
    return [StepStatus(status) for status in query["status"]]


@steps.get("/runs/<run_id>/steps", StepPage, query=StepsQuery, refused=(404,))
def list_all(query: dict[str, Any], run_id: str) -> Response:
    """List the steps of a run

    In the order of the graph; steps with items are one each.
    """
    with looking_at(run_id) as conn:
        return paged(list_steps(conn, run_id, _statuses(query), query["after"], query["limit"]))


@steps.get("/runs/<run_id>/steps/<step>", StepShape, query=Whole, refused=(404,))
def show(query: dict[str, Any], run_id: str, step: str) -> Response:
    """Show a step"""
    with looking_at(run_id) as conn:
        return answered(get_step(conn, run_id, step, _read(query)))


@steps.get("/runs/<run_id>/steps/<step>/items", ItemPage, query=StepsQuery, refused=(404,))
def items(query: dict[str, Any], run_id: str, step: str) -> Response:
    """List the items of a step

    In their order. Empty for a step without `with_items`, and before it was expanded.
    """
    with looking_at(run_id) as conn:
        return paged(list_items(conn, run_id, step, _statuses(query), query["after"], query["limit"]))


@steps.get("/runs/<run_id>/steps/<step>/items/<int(max=2147483647):index>", ItemShape, query=Whole, refused=(404,))
def item(query: dict[str, Any], run_id: str, step: str, index: int) -> Response:
    """Show an item of a step"""
    with looking_at(run_id) as conn:
        return answered(get_item(conn, run_id, step, index, _read(query)))


@steps.get("/runs/<run_id>/steps/<step>/attempts", AttemptsShape, query=ItemQuery, refused=(404,))
def attempts(query: dict[str, Any], run_id: str, step: str) -> Response:
    """List the attempts of a step, or of an item of it, that have ended"""
    with looking_at(run_id) as conn:
        return answered({"items": list_attempts(conn, run_id, step, query["item"])})


@steps.get("/runs/<run_id>/steps/<step>/why", WhyShape, query=ItemQuery, refused=(404,))
def why_not(query: dict[str, Any], run_id: str, step: str) -> Response:
    """Tell why a step, or an item of it, is not running"""
    with looking_at(run_id) as conn:
        plan = engine().plans.get(conn, run_now(conn, run_id).revision_id)
        told = why(conn, plan, run_id, step, query["item"], one_app=current_identity().app is not None)
        return answered({"run_id": run_id, "step": step, "why": told})
