"""Shapes of alert rules."""

from __future__ import annotations

from marshmallow import fields

from orchestrator.domain.alerts import Channel, Kind, Severity, State
from web.api.shapes.base import (
    Shape,
    at,
    at_or_null,
    flag,
    id_of,
    id_or_null,
    number,
    number_or_null,
    page_of,
    text,
    text_or_null,
    texts,
    told,
    word,
)


class AlertRuleShape(Shape):
    id = id_of()
    name = text()
    app = text_or_null("Null: all apps.")
    kinds = fields.List(word(Kind), required=True, **told("What it is about."))
    severity = word(Severity)
    workflow = text_or_null("Of runs of this workflow only.")
    tags = texts("Of runs with all of these only.")
    queue = text_or_null("Of this queue only.")
    late_seconds = number_or_null("A run is late that is open so long; null: only past its deadline.")
    stuck_seconds = number("A queue is stuck from which nothing was taken for so long.")
    group_seconds = number("Runs of a workflow are gathered for so long, and told together.")
    repeat_seconds = number("What is still so is told again after so long.")
    resolved = flag("Whether it also tells that something is over.")
    webhook = text_or_null("Where it posts to: a host, as the rest may be secret, or `secrets.NAME`.")
    signed = flag("Whether what it posts is signed.")
    emails = texts()
    paused = flag()
    paused_at = at_or_null()
    paused_by = text_or_null()
    pause_reason = text_or_null()
    open = number("How many things are so now.")
    waiting = number("Messages on their way.")
    last_sent_at = at_or_null()
    error = text_or_null("Why its last message has not arrived, if it has not.")
    created_at = at()
    created_by = text()
    changed_at = at()
    changed_by = text()


class AlertShape(Shape):
    id = id_of()
    kind = word(Kind)
    app = text_or_null()
    workflow = text_or_null()
    queue = text_or_null()
    schedule = text_or_null()
    total = number("How many runs; 1 for a queue or a schedule.")
    opened_at = at()
    last_at = at("When it was last found so.")
    sent_at = at_or_null("When it was last told.")
    due_at = at_or_null("When it is told next, if it is still so, or more has come.")
    closed_at = at_or_null()
    outcome = fields.String(
        required=True, allow_none=True, **told("How it closed.", enum=["resolved", "quiet", "paused", None])
    )


class AlertDeliveryShape(Shape):
    id = id_of("In the message, the same however often it is sent.")
    alert_id = id_or_null("Null: a test.")
    channel = word(Channel)
    state = word(State)
    status = word(("waiting", "sent", "given_up"))
    title = text()
    attempts = number()
    created_at = at()
    due_at = at_or_null("When it is sent next.")
    sent_at = at_or_null()
    given_up_at = at_or_null()
    error = text_or_null("Why its last attempt failed.")


class AlertTestShape(Shape):
    items = fields.List(fields.Nested(AlertDeliveryShape), required=True)


AlertRulePage = page_of(AlertRuleShape)
AlertPage = page_of(AlertShape)
AlertDeliveryPage = page_of(AlertDeliveryShape)
