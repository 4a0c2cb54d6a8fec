"""Runs of every kind in a database, for pages to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.domain.roles import Role
from orchestrator.errors import Fail
from orchestrator.services.cancel import cancel
from orchestrator.services.coordinate import tick
from orchestrator.services.hold import hold
from orchestrator.services.pause import pause
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.services.tokens import create_token
from orchestrator.store.db import Database
from tests.hands import Hands

MARKUP = "<script>alert('x')</script><img src=x onerror=alert(1)>"
ODD = "a/b # c: 100% \"q\" <b>bold</b> & ü '{{ 7*7 }}'"


def _charge(amount: int, fail: bool = False) -> dict[str, Any]:
    if fail:
        raise ValueError(f"card was declined: {MARKUP}")
    return {"id": "ch_1", "amount": amount, "note": MARKUP}


def _stop(**_: Any) -> None:
    raise Fail("no such address")


FUNCTIONS = {
    "shop.charge": _charge,
    "shop.reserve": lambda **given: {"reserved": True, **given},
    "shop.label": lambda **given: {"label": "PDF", **given},
    "shop.stop": _stop,
    "shop.each": lambda item: item * 2,
}

ORDER: dict[str, Any] = {
    "name": "shop/order #1: 100%",
    "label": "Order",
    "description": "Takes the money, sends the goods",
    "tags": ["shop"],
    "input_schema": {
        "type": "object",
        "properties": {
            "amount": {"type": "integer"},
            "fail": {"type": "boolean", "default": False},
            "card": {"type": "string", "writeOnly": True},
        },
        "required": ["amount"],
    },
    "steps": [
        {"name": "reserve", "function": "shop.reserve", "input": {"amount": "{{ input.amount }}"}},
        {
            "name": "charge",
            "function": "shop.charge",
            "input": {"amount": "{{ input.amount }}", "fail": "{{ input.fail }}"},
            "depends_on": ["reserve"],
            "retry": {"max_attempts": 2, "delay": 0},
        },
        {"name": ODD, "function": "shop.label", "input": {"note": MARKUP}, "depends_on": ["charge"]},
        {
            "name": "many",
            "function": "shop.each",
            "with_items": [1, 2, 3, 4],
            "input": {"item": "{{ item }}"},
            "depends_on": ["reserve"],
        },
        {"name": "express", "pass": True, "when": "input.amount > 1000", "depends_on": ["charge"]},
        {"name": "done", "pass": True, "depends_on": [ODD, "many", "express"], "trigger_rule": "none_failed"},
    ],
}
NOTE: dict[str, Any] = {
    "name": "note",
    "steps": [{"name": "write", "function": "shop.label", "input": {"to": "{{ input.to }}"}}],
}
PARENT: dict[str, Any] = {
    "name": "parent",
    "steps": [
        {"name": "first", "function": "shop.reserve", "input": {}},
        {"name": "below", "workflow": "note", "input": {"to": "you"}, "depends_on": ["first"]},
        {"name": "last", "pass": True, "depends_on": ["below"]},
    ],
}
WAITS: dict[str, Any] = {
    "name": "asks",
    "steps": [
        {"name": "prepare", "pass": True},
        {
            "name": "agree",
            "wait_for": {"approval": {"title": f"Refund {MARKUP}?", "fields": {"limit": {"type": "integer"}}}},
            "depends_on": ["prepare"],
        },
        {"name": "paid", "wait_for": {"event": "paid"}, "depends_on": ["prepare"]},
        {"name": "sleepy", "sleep": 3600, "depends_on": ["prepare"]},
        {"name": "after", "function": "shop.reserve", "depends_on": ["agree", "paid", "sleepy"]},
    ],
}


@dataclass(frozen=True, slots=True)
class Stage:
    """The ids of the runs, and tokens by role."""

    hands: Hands
    tokens: dict[str, str]
    succeeded: str
    failed: str
    parent: str
    child: str
    waiting: str
    paused: str
    canceled: str
    running: str


def furnish(db: Database) -> Stage:
    """Fill the database; the same runs each time."""
    hands = Hands(db, FUNCTIONS)
    for document in (ORDER, NOTE, PARENT, WAITS):
        register(hands.engine, document, actor="test")
    tokens = {str(role): create_token(db, str(role), role, password="correct horse").token for role in Role}
    succeeded = _start(hands, ORDER, {"amount": 5, "card": "4111-1111-1111-1111"}, ("eu", "vip"))
    failed = _start(hands, ORDER, {"amount": 7, "fail": True}, ("eu",))
    parent = _start(hands, PARENT, {})
    waiting = _start(hands, WAITS, {})
    paused = _start(hands, WAITS, {})
    canceled = _start(hands, ORDER, {"amount": 9})
    cancel(hands.engine, canceled, reason="not wanted any more", actor="test")
    for _ in range(12):
        hands.work()
        tick(hands.engine)
    pause(hands.engine, paused, reason=f"lunch {MARKUP}", actor="test")
    hold(hands.engine, paused, "after", reason="look at it first", actor="test")
    running = _start(hands, ORDER, {"amount": 11})
    hands.claim()  # a worker has it, and is at it
    child = hands.steps(parent)["below"]["child_run_id"]
    return Stage(hands, tokens, succeeded, failed, parent, child, waiting, paused, canceled, running)


def _start(hands: Hands, document: dict[str, Any], input: Any, tags: tuple[str, ...] = ()) -> str:
    return start(hands.engine, document["name"], input, StartOptions(tags=tags, actor="test")).run_id
