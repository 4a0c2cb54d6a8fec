"""Runs of functions, for pages to show."""

from __future__ import annotations

from typing import Any

from orchestrator.domain.definition import Retry
from orchestrator.functions import make_workflow
from orchestrator.services.register_code import register_code
from orchestrator.services.start import start
from tests.hands import Hands

SCHEMA = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer", "title": "Amount"}}}


def sale(ctx: Any, input: Any) -> Any:
    """Charge, send, and tell."""
    ctx.step("charge", lambda amount: {"id": amount}, amount=input["amount"])
    ctx.gather(*(ctx.start_call("shop.label", {"n": n}, name=f"label {n}") for n in range(2)))
    ctx.step("mail", _offline, retry=Retry(max_attempts=3, delay=600)) if input["amount"] > 100 else None
    ctx.spawn_child("note", {"to": "you"})
    return ctx.wait_event("approved", timeout=86400)


def _offline() -> None:
    raise ConnectionError("no mail")


def sell(hands: Hands, amount: int) -> str:
    """A run that has charged and waits for its approval, or one whose mail is tried again."""
    spec = make_workflow(sale, "sale", version="3", input_schema=SCHEMA, tags=["shop"])
    hands.engine.functions.workflows.put(spec)
    register_code(hands.engine, spec, actor="test")
    run_id = start(hands.engine, "sale", {"amount": amount}).run_id
    for _ in range(3):
        hands.work()
    return run_id
