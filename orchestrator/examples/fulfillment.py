"""An order from the charge to the parcel, written as a function (docs/code-first.md).

ORCHESTRATOR_FUNCTIONS=orchestrator.examples.fulfillment makes a worker know it.
"""

# What a step prints is part of its log.
# ruff: noqa: T201

from __future__ import annotations

from typing import Any

from orchestrator import Fail, RetryPolicy, StepFailed, function, workflow
from orchestrator.context import AttemptContext

HOUR, DAY = 3600, 86400
BIG = 500


@workflow(
    name="fulfillment",
    version="1",
    input_schema={
        "type": "object",
        "required": ["id", "email", "amount"],
        "properties": {
            "id": {"type": "string", "minLength": 1},
            "email": {"type": "string", "format": "email"},
            "amount": {"type": "number", "exclusiveMinimum": 0},
        },
    },
)
def fulfillment(ctx: Any, input: Any) -> dict[str, Any]:
    """Charge an order, have a big one approved, send it, tell the customer; pay back when that fails."""
    charge = ctx.step("charge", charge_card, order=input["id"], amount=input["amount"])
    try:
        if input["amount"] > BIG and not ctx.wait_event("decision", timeout=DAY)["approved"]:
            raise Fail("the order was not approved")
        label = ctx.call("example.fulfillment.label", {"order": input["id"]}, name="label")
    except (StepFailed, Fail) as error:
        ctx.step("refund", refund, payment=charge["payment"], why=str(error))
        raise
    notice = {"to": input["email"], "parcel": label["parcel"]}
    child = ctx.spawn_child("fulfillment-notice", notice, child_id=f"notice-{input['id']}")
    return {"parcel": label["parcel"], "mails": ctx.await_child(child)["mails"]}


@workflow(name="fulfillment-notice", version="1")
def notice(ctx: Any, input: Any) -> dict[str, Any]:
    """Write when the parcel leaves, and once more when it has arrived."""
    ctx.step("on its way", mail, to=input["to"], text=f"parcel {input['parcel']} is on its way")
    ctx.sleep(input.get("travels", HOUR))
    ctx.step("arrived", mail, to=input["to"], text="has it arrived?")
    return {"mails": 2}


# What follows stands for a shop's services.


def charge_card(order: str, amount: float, ctx: AttemptContext) -> dict[str, Any]:
    """Take the money, once: the bank knows a payment by `idempotency_key`, whichever attempt sends it."""
    print(f"charged {amount} for order {order}, key {ctx.idempotency_key}")
    return {"payment": f"payment-{order}", "amount": amount}


def refund(payment: str, why: str) -> None:
    """Pay back."""
    print(f"{payment} paid back: {why}")


@function(name="example.fulfillment.label", retry=RetryPolicy(max_attempts=3, delay=2.0))
def label(order: str, ctx: AttemptContext) -> dict[str, Any]:
    """Print a label. The printer wakes up at the second try."""
    if ctx.attempt == 1:
        raise ConnectionError("the printer does not answer")
    return {"parcel": f"parcel-{order}"}


def mail(to: str, text: str) -> None:
    """Write to the customer."""
    print(f"to {to}: {text}")
