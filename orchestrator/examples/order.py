"""The functions of order.yaml. They stand for calls to a shop's services, and take a moment, as these do."""

# What a step prints is part of its log.
# ruff: noqa: T201

from __future__ import annotations

from collections.abc import Mapping
from time import sleep
from typing import Any

from orchestrator import Fail, function
from orchestrator.context import AttemptContext


@function(name="example.order.validate")
def validate(order: Mapping[str, Any]) -> dict[str, Any]:
    """Check what a schema cannot."""
    sleep(0.3)
    if order["email"].endswith("@example.invalid"):
        raise Fail(f"nobody can be reached at {order['email']}")
    print(f"order {order['id']} is complete")
    return {"checked": True}


@function(name="example.order.reserve_stock")
def reserve_stock(order_id: str, parcels: int) -> dict[str, Any]:
    """Set the goods aside."""
    sleep(1.0)
    print(f"{parcels} parcels set aside")
    return {"reservation": f"stock-{order_id}"}


@function(name="example.order.score_fraud")
def score_fraud(amount: float) -> dict[str, Any]:
    """How much the order looks like fraud, from 0 to 1."""
    sleep(1.5)
    return {"score": 0.9 if amount > 500 else 0.1}


@function(name="example.order.charge")
def charge(order_id: str, amount: float, currency: str, ctx: AttemptContext) -> dict[str, Any]:
    """Take the money, once: the bank knows a payment by `idempotency_key`, whichever attempt sends it."""
    sleep(0.5)
    if ctx.attempt == 1:
        ctx.log.warning("the bank does not answer")
        raise ConnectionError("the bank does not answer")
    ctx.log.info("charged %s %s, key %s", amount, currency, ctx.idempotency_key)
    return {"payment": f"payment-{order_id}", "amount": amount, "currency": currency}


@function(name="example.order.ship_label")
def ship_label(order_id: str, parcels: int, ctx: AttemptContext) -> dict[str, Any]:
    """Print a label for each parcel, and show how far it is."""
    labels = []
    for number in range(1, parcels + 1):
        sleep(0.2)
        labels.append(f"{order_id}-{number:02}")
        ctx.heartbeat({"done": number, "total": parcels})
    print(f"printed {len(labels)} labels")
    return {"labels": labels}


@function(name="example.order.refund")
def refund(payment: str, why: str) -> dict[str, Any]:
    """Pay back."""
    sleep(0.3)
    print(f"{payment} paid back: {why}")
    return {"refunded": payment}


@function(name="example.order.release_stock")
def release_stock(reservation: str) -> None:
    """Give back what was set aside."""
    sleep(0.2)
    print(f"{reservation} given back")


@function(name="example.order.notify")
def notify(email: str, text: str) -> dict[str, Any]:
    """Write to the customer."""
    sleep(0.3)
    print(f"to {email}: {text}")
    return {"sent_to": email}


@function(name="example.order.close_books")
def close_books(order_id: str, status: str) -> None:
    """Note how the order ended, whichever way."""
    print(f"order {order_id} {status}")
