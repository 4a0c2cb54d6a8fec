"""Events and decisions that steps wait for, and what may be in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.domain.definition import Approval, Step, WaitFor
from orchestrator.domain.event_names import approval_event
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.inputs import check_payload, filled
from orchestrator.errors import Problem


def waits(plan: Plan) -> list[PlanStep]:
    """The steps, handlers and compensations that wait for an event or a decision."""
    return [here for here in (*plan.steps, *plan.afterwards) if here.step.wait_for is not None]


def event_of(step: Step) -> str | None:
    """The name of the event the step waits for; None when a template makes it."""
    asked = step.wait_for
    if asked is None or (asked.event is not None and "{{" in asked.event):
        return None
    return approval_event(step.name) if asked.approval is not None else asked.event


def form_schema(approval: Approval) -> dict[str, Any]:
    """The JSON Schema of an approval's filled-in fields: those without a default are required."""
    required = [name for name, schema in approval.fields.items() if "default" not in schema]
    properties = dict(approval.fields)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def decision(approval: Approval, approved: bool, fields: Mapping[str, Any], by: str, comment: str | None) -> Any:
    """The payload of a decision. Raises `InvalidInput` for fields that do not fit (`fields.amount`).

    A no needs no fields.
    """
    given = filled(form_schema(approval), dict(fields), "fields") if approved or fields else {}
    return {"approved": approved, "by": by, "comment": comment, "fields": given}


def payload_problems(asked: WaitFor, payload: Any) -> list[Problem]:
    """Why the event's payload is not what the step waits for."""
    return [] if asked.schema is None else check_payload(asked.schema, payload)
