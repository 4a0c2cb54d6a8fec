"""`with_items`: what the items are, what they are called with, what the step gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator import Fail, RetryLater, Skip, testing
from orchestrator.context import AttemptContext
from orchestrator.services.engine import Settings
from orchestrator.store import batch
from orchestrator.store.db import Database
from tests.documents import Document, document, step
from tests.hands import Hands


def double(x: Any) -> Any:
    return x * 2


def odd_fails(x: int) -> int:
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x


def odd_skips(x: int) -> int:
    if x % 2:
        raise Skip("odd")
    return x


def told(ctx: AttemptContext, **given: Any) -> dict[str, Any]:
    return {"step": ctx.step, "index": ctx.item_index, "key": ctx.idempotency_key, **given}


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "double": double,
    "odd_fails": odd_fails,
    "odd_skips": odd_skips,
    "told": told,
    "ok": lambda **given: given,
}
JOIN = step("join", "each", input={"got": "{{ steps.each.output }}", "items": "{{ steps.each.items }}"})


def each(function: str = "double", with_items: Any = "{{ input.xs }}", **keys: Any) -> dict[str, Any]:
    return step("each", function=function, with_items=with_items, **({"input": {"x": "{{ item }}"}} | keys))


def run(made: Document, xs: Any = None, **options: Any) -> testing.RunResult:
    return testing.run(made, {"xs": xs}, functions=FUNCTIONS, **options)


@pytest.mark.parametrize("xs", [[], [3], [1, 2, 3], list(range(250)), ["a", "ü", ""]])
def test_the_output_is_the_list_of_what_the_items_gave_in_their_order(xs: list[Any]) -> None:
    result = run(document(each()), xs, pick=lambda waiting: waiting - 1)
    assert (result.status, result.output) == ("succeeded", {"each": [x * 2 for x in xs]})
    assert [item.status for item in result.steps["each"].items] == ["succeeded"] * len(xs)


def test_the_items_of_a_map_are_its_keys_with_their_values() -> None:
    result = run(document(each("ok", input={"of": "{{ item.key }}", "x": "{{ item.value }}"})), {"b": 1, "a": [2]})
    assert result.output == {"each": [{"of": "b", "x": 1}, {"of": "a", "x": [2]}]}


@pytest.mark.parametrize("items", [[1, 2], {"items": [1, 2]}, {"items": ["{{ input.xs }}", 2]}])
def test_items_may_be_written_down(items: Any) -> None:
    assert run(document(each(with_items=items)), 1).output == {"each": [2, 4]}


@pytest.mark.parametrize(("value", "what"), [("abc", "text"), (5, "a number"), (None, "null"), (True, "a boolean")])
def test_what_is_neither_list_nor_map_fails_the_step_saying_so(value: Any, what: str) -> None:
    result = run(document(each()), value)
    assert (result.status, result.steps["each"].reason) == ("failed", "error")
    assert f"`with_items` must become a list or a map, not {what}" in (result.error or {})["message"]


def test_the_function_is_called_with_lists_when_items_go_in_batches() -> None:
    result = run(document(each(with_items={"items": "{{ input.xs }}", "batch_size": 2})), [1, 2, 3])
    assert result.output == {"each": [[1, 2, 1, 2], [3, 3]]}


def test_an_item_knows_its_index_and_has_a_key_of_its_own() -> None:
    output = run(document(each("told", input={"i": "{{ index }}"})), ["a", "b"]).output["each"]
    assert [(o["step"], o["index"], o["i"]) for o in output] == [("each", 0, 0), ("each", 1, 1)]
    assert output[0]["key"] != output[1]["key"]


def test_what_follows_sees_the_list_and_how_many_ended_as_what() -> None:
    result = run(document(each("odd_skips", publish={"all": "{{ result }}"}), JOIN), [1, 2])
    counts = {"succeeded": 1, "failed": 0, "skipped": 1, "canceled": 0}
    assert result.output == {"join": {"got": [None, 2], "items": counts}}
    assert result.vars == {"all": [None, 2]}


@pytest.mark.parametrize(
    ("keys", "end"), [({"with_items": "{{ 1 }}"}, "failed"), ({"when": "false"}, "skipped")], ids=["failed", "skipped"]
)
@pytest.mark.parametrize("reader", [{}, {"timeout": 5}, {"function": None, "pass": True}], ids=str)
def test_of_a_step_that_had_no_items_none_ended(keys: dict[str, Any], end: str, reader: dict[str, Any]) -> None:
    counts = {"items": "{{ steps.each.items }}", "was": "{{ steps.each.status }}"}
    join = step("join", "each", trigger_rule="all_done", input=counts) | reader
    result = run(document(each() | keys, {key: value for key, value in join.items() if value is not None}), [1, 2])
    none = {"succeeded": 0, "failed": 0, "skipped": 0, "canceled": 0}
    assert result.steps["join"].output == {"items": none, "was": end}


@pytest.mark.parametrize("keys", [{}, {"publish": {"v": 1}}], ids=["in one statement", "by the rules"])
def test_a_condition_on_the_edge_sees_the_items(keys: dict[str, Any]) -> None:
    edge = {"step": "each", "when": "steps.each.items.skipped == 1 and result == [null, 2]".replace("null", "none")}
    result = run(document(each("odd_skips", **keys), step("join") | {"depends_on": [edge]}), [1, 2])
    assert result.steps["join"].status == "succeeded"


def test_items_read_variables_other_steps_and_large_inputs(db: Database) -> None:
    given = {"x": "{{ item }}", "v": "{{ vars.v }}", "s": "{{ steps.a.output.n }}", "big": "{{ input.big | length }}"}
    made = document(step("a", input={"n": 7}), each("ok", depends_on=["a"], input=given), vars={"v": 5})
    hands = Hands(db, FUNCTIONS)
    large = "x" * 5000
    run_id = hands.start(made, {"xs": [large, 2], "big": large})
    hands.work()
    output = hands.steps(run_id)["each"]["output"]
    assert output == [{"x": large, "v": 5, "s": 7, "big": 5000}, {"x": 2, "v": 5, "s": 7, "big": 5000}]


def test_a_large_input_of_the_run_is_read_once_for_all_items(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = batch.input_of

    def counted(of: Database, run_id: str) -> Any:
        read.append(run_id)
        return real(of, run_id)

    monkeypatch.setattr(batch, "input_of", counted)
    hands = Hands(db, FUNCTIONS)
    given = {"x": "{{ item }}", "big": "{{ input.big | length }}"}
    run_id = hands.start(document(each("ok", input=given)), {"xs": [1, 2, 3], "big": "x" * 5000})
    hands.work()
    assert hands.steps(run_id)["each"]["output"] == [{"x": x, "big": 5000} for x in (1, 2, 3)]
    assert read == [run_id]


# Empty, skipped and failed stay apart.


@pytest.mark.parametrize("place", ["leaf", "middle"])
def test_no_items_are_a_success_wherever_the_step_is(place: str) -> None:
    result = run(document(each(), *([JOIN] if place == "middle" else [])), [])
    assert (result.status, result.steps["each"].status, result.steps["each"].output) == ("succeeded", "succeeded", [])


def test_a_step_whose_condition_is_false_is_not_expanded() -> None:
    result = run(document(each(when="false"), JOIN), [])
    assert [(s.status, s.reason) for s in result.steps.values()] == [
        ("skipped", "condition"),
        ("skipped", "not_triggered"),
    ]


def test_a_step_is_skipped_when_all_its_items_are() -> None:
    result = run(document(each("odd_skips"), JOIN, step("after", "each", trigger_rule="all_skipped")), [1, 3])
    steps = {name: (found.status, found.reason) for name, found in result.steps.items()}
    assert steps == {
        "each": ("skipped", "function"),
        "join": ("skipped", "not_triggered"),
        "after": ("succeeded", None),
    }


def test_a_step_fails_when_an_item_does_saying_how_many_and_the_first_error() -> None:
    result = run(document(each("odd_fails"), JOIN), [2, 4, 5, 6, 7])
    assert (result.steps["each"].status, result.steps["join"].status) == ("failed", "upstream_failed")
    error = result.steps["each"].error or {}
    assert (error["type"], error["message"]) == (
        "ItemsFailed",
        "2 of 5 items failed; first item 2: ValueError: 5 is odd",
    )
    assert [item.status for item in result.steps["each"].items] == [
        "succeeded",
        "succeeded",
        "failed",
        "succeeded",
        "failed",
    ]


@pytest.mark.parametrize(
    ("most", "status"), [(1, "failed"), (2, "succeeded"), ("10%", "failed"), ("40%", "succeeded"), ("39.9%", "failed")]
)
def test_so_many_may_fail_as_it_says(most: int | str, status: str) -> None:
    result = run(
        document(each("odd_fails", with_items={"items": "{{ input.xs }}", "max_failures": most})), [1, 2, 3, 4, 6]
    )
    assert result.status == status
    if status == "succeeded":
        assert result.output == {"each": [None, 2, None, 4, 6]}


def test_a_list_too_large_to_be_stored_fails_the_step_and_says_how_large() -> None:
    result = run(document(each()), ["x" * 400, "y" * 400], settings=Settings(max_output_bytes=1000))
    assert (result.error or {})["type"] == "UnstorableValue"
    assert "its 2 items returned" in (result.error or {})["message"]


# Attempts.


def test_each_item_has_its_own_attempts() -> None:
    left = {1: 2, 2: 0}

    def flaky(x: int) -> int:
        if left[x]:
            left[x] -= 1
            raise RuntimeError("not yet")
        return x

    made = document(each("flaky", retry={"max_attempts": 3, "delay": 10}))
    result = testing.run(made, {"xs": [1, 2]}, functions={"flaky": flaky})
    assert (result.output, [i.attempts for i in result.steps["each"].items]) == ({"each": [1, 2]}, [3, 1])
    assert result.duration.total_seconds() == 20
    assert result.steps["each"].attempts == 1


def test_the_timeout_holds_for_each_item_and_may_depend_on_it() -> None:
    def slow(x: int) -> int:
        testing.sleep(x)
        return x

    made = document(each("slow", timeout="{{ item - 5 + 10 * index }}"))
    result = testing.run(made, {"xs": [50, 40]}, functions={"slow": slow})
    assert [(i.status, i.reason) for i in result.steps["each"].items] == [("failed", "timeout"), ("succeeded", None)]


def test_what_raises_for_good_is_not_tried_again_and_what_asks_for_later_is() -> None:
    asked: list[int] = []

    def call(x: int) -> int:
        asked.append(x)
        if x == 1:
            raise Fail("never")
        if asked.count(x) == 1:
            raise RetryLater("busy", after=7)
        return x

    made = document(each("call", with_items={"items": "{{ input.xs }}", "max_failures": 1}, retry={"max_attempts": 5}))
    result = testing.run(made, {"xs": [1, 2]}, functions={"call": call})
    assert (result.output, asked) == ({"each": [None, 2]}, [1, 2, 2])


def test_the_total_timeout_ends_all_that_is_left() -> None:
    made = document(each("odd_fails", total_timeout=50, retry={"max_attempts": 99, "delay": 20}), JOIN)
    result = run(made, [2, 3])
    found = result.steps["each"]
    assert (found.status, found.reason) == ("failed", "total_timeout")
    assert [(i.status, i.reason) for i in found.items] == [("succeeded", None), ("canceled", "total_timeout")]
    assert (result.status, result.duration.total_seconds()) == ("failed", 50)


def test_an_unknown_function_fails_every_item_saying_so() -> None:
    result = run(document(each("nobody")), [1, 2])
    assert "2 of 2 items failed; first item 0: UnknownFunction" in (result.error or {})["message"]


def test_items_are_not_counted_as_steps(db: Database) -> None:
    hands = Hands(db, FUNCTIONS)
    run_id = hands.start(document(each(), JOIN), {"xs": [1, 2, 3]})
    hands.work()
    with db.transaction() as conn:
        summary = conn.execute(text("SELECT steps, succeeded FROM workflow_run_summary WHERE id = :id"), {"id": run_id})
        assert tuple(summary.one()) == (2, 2)
        items = conn.execute(text("SELECT step, index, item, status, output FROM workflow_step_items ORDER BY index"))
        assert [tuple(row) for row in items] == [("each", i, x, "succeeded", 2 * x) for i, x in enumerate([1, 2, 3])]
        assert conn.execute(text("SELECT count(*) FROM workflow_step_detail")).scalar_one() == 2
