"""The workflows that come with the package."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from orchestrator import Fail, testing
from orchestrator.examples import order

FOLDER = Path(str(files("orchestrator.examples")))
ORDER = {"id": "A-17", "amount": 42.5}


@pytest.fixture(autouse=True)
def _time_passes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "sleep", testing.sleep)


def run(given: dict[str, Any] = ORDER, **instead: Callable[..., Any]) -> testing.RunResult:
    """Run the order, with other functions in the place of some."""
    functions = {f"example.order.{name}": function for name, function in instead.items()}
    return testing.run(FOLDER / "order.yaml", given, functions)


def ended(result: testing.RunResult, status: str) -> set[str]:
    return {name for name, step in result.steps.items() if step.status == status}


def refuse(**_: Any) -> None:
    raise Fail("refused")


def test_an_order_is_shipped_after_the_bank_did_not_answer_at_first() -> None:
    result = run()
    assert result.status == "succeeded"
    assert result.output == {"order": "A-17", "shipped": True, "payment": "payment-A-17", "labels": 10}
    assert [attempt["outcome"] for attempt in result.steps["charge"].history] == ["failed", "succeeded"]
    assert ended(result, "skipped") == {"refund", "release_stock"}


def test_the_example_takes_between_five_and_ten_seconds() -> None:
    assert 5 < run().duration.total_seconds() < 10


def test_an_order_that_looks_like_fraud_is_not_charged_and_its_stock_is_released() -> None:
    result = run(ORDER | {"amount": 900})
    assert result.steps["charge"].reason == "condition"
    assert {"release_stock", "notify"} <= ended(result, "succeeded")
    assert result.output == {"order": "A-17", "shipped": False, "payment": None, "labels": 0}


def test_an_order_that_cannot_be_shipped_is_paid_back() -> None:
    result = run(ship_label=refuse)
    assert result.status == "succeeded"
    assert {"refund", "release_stock", "notify"} <= ended(result, "succeeded")
    assert result.steps["refund"].output == {"refunded": "payment-A-17"}


def test_an_order_that_cannot_be_charged_gives_its_stock_back() -> None:
    result = run(charge=refuse)
    assert result.status == "succeeded"
    assert {"release_stock", "notify"} <= ended(result, "succeeded")
    assert result.output["shipped"] is False


def test_an_order_that_is_not_complete_fails_the_run() -> None:
    result = run(ORDER | {"email": "nobody@example.invalid"})
    assert result.status == "failed"
    assert result.error == {
        "type": "Fail",
        "message": "nobody can be reached at nobody@example.invalid",
        "step": "validate",
    }
    assert result.steps["on_finish"].input == {"order_id": "A-17", "status": "failed"}


def test_hello_greets() -> None:
    assert testing.run(FOLDER / "hello.yaml").output == "Hello, world!"
    assert testing.run(FOLDER / "hello.yaml", {"name": "Ada"}).output == "Hello, Ada!"
