"""The example's tests, as a user writes them: no server, no waiting."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from orchestrator import testing
from orchestrator.errors import InvalidInput
from orchestrator.examples.fulfillment import fulfillment

SMALL = {"id": "7", "email": "ada@example.org", "amount": 20}
BIG = {**SMALL, "amount": 900}


def test_a_small_order_is_charged_and_sent_and_the_customer_is_told_twice() -> None:
    result = testing.run(fulfillment, SMALL)

    assert result.output == {"parcel": "parcel-7", "mails": 2}
    assert result.called("charge") == [{"order": "7", "amount": 20}]
    (told,) = result.children
    assert [call.input["to"] for call in told.calls] == ["ada@example.org"] * 2
    assert told.sleeps == (timedelta(hours=1),)
    assert result.duration == timedelta(hours=1, seconds=2)  # the label's second try is two seconds later


def test_a_big_order_waits_for_its_approval() -> None:
    approval = testing.signal("decision", {"approved": True}, after=timedelta(hours=5))

    result = testing.run(fulfillment, BIG, during=[approval])

    assert result.status == "succeeded"
    assert result.duration > timedelta(hours=5)


@pytest.mark.parametrize(
    ("signals", "error"),
    [({"decision": {"approved": False}}, "Fail"), ({}, "WaitTimeout")],
    ids=["refused", "nobody has decided"],
)
def test_an_order_that_is_not_approved_is_paid_back(signals: dict[str, Any], error: str) -> None:
    result = testing.run(fulfillment, BIG, signals=signals)

    assert result.status == "failed"
    assert result.error is not None
    assert result.error["type"] == error
    (paid_back,) = result.called("refund")
    assert paid_back["payment"] == "payment-7"
    assert result.children == ()


def test_a_printer_that_stays_broken_costs_nothing() -> None:
    def broken(order: str) -> None:
        raise ConnectionError("no printer")

    result = testing.run(fulfillment, SMALL, {"example.fulfillment.label": broken})

    assert result.called("refund") == [{"payment": "payment-7", "why": "label: ConnectionError: no printer"}]
    assert [call.attempts for call in result.calls] == [1, 3, 1]


def test_the_bank_is_asked_again_by_no_one_but_a_new_order() -> None:
    def out_of_money(order: str, amount: float) -> None:
        raise ValueError("no money")

    result = testing.run(fulfillment, SMALL, {"charge": out_of_money})

    assert (result.status, [call.name for call in result.calls]) == ("failed", ["charge"])


def test_an_order_without_an_address_is_refused_at_its_start() -> None:
    with pytest.raises(InvalidInput, match="email"):
        testing.run(fulfillment, {"id": "7", "amount": 20})
