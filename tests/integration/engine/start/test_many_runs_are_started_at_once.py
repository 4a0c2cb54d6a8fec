"""A run for each input, all or none; and the same rows whether a start is plain or follows the rules."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.errors import InvalidInput, NotFound
from orchestrator.services import start as start_module
from orchestrator.services.register import register
from orchestrator.services.start import start, start_many
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.db import Database
from tests.documents import Document, document, step
from tests.hands import Hands

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "kg"}},
    "required": ["n"],
}
PLAIN = document(
    step("a", queue="first", priority=3),
    step("b", "a", retry={"max_attempts": 4}),
    step("c", "a", "b"),
    {"name": "p", "depends_on": ["c"], "pass": True},
    input_schema=SCHEMA,
    tags=["all"],
    timeout=60,
)
RULES = PLAIN | {"vars": {"double": "{{ input.n * 2 }}"}}


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db)


def rows(hands: Hands, table: str, run: str, *without: str) -> list[dict[str, Any]]:
    column, order = ("id", "id") if table == "workflow_runs" else ("run_id", "position")
    with hands.db.transaction() as conn:
        found = conn.execute(text(f"SELECT * FROM {table} WHERE {column} = :run ORDER BY {order}"), {"run": run})
        return [{k: v for k, v in row.items() if k not in without} for row in found.mappings()]


@pytest.mark.parametrize("definition", [PLAIN, RULES], ids=["plain", "by the rules"])
def test_each_input_has_a_run_in_their_order(hands: Hands, definition: Document) -> None:
    register(hands.engine, definition)
    started = start_many(hands.engine, "w", [{"n": i} for i in range(5)], StartOptions(tags=["mine"]))
    assert [one.created for one in started] == [True] * 5
    assert [rows(hands, "workflow_runs", one.run_id)[0]["input"] for one in started] == [
        {"n": i, "unit": "kg"} for i in range(5)
    ]
    assert sorted(one.run_id for one in started) == [one.run_id for one in started]
    hands.work()
    assert {hands.status(one.run_id) for one in started} == {"succeeded"}
    assert {tuple(rows(hands, "workflow_runs", one.run_id)[0]["tags"]) for one in started} == {("all", "mine")}


def test_a_plain_start_makes_the_rows_that_the_rules_make(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    register(hands.engine, PLAIN)
    plain = start(hands.engine, "w", {"n": 1}).run_id
    monkeypatch.setattr(start_module, "start_plainly", lambda *_: None)
    by_rules = start(hands.engine, "w", {"n": 1}).run_id
    own = ("id", "root_id", "run_id", "created_at", "started_at", "deadline_at", "ready_at", "queued_at", "claim_token")
    assert rows(hands, "workflow_runs", plain, *own) == rows(hands, "workflow_runs", by_rules, *own)
    assert rows(hands, "workflow_run_steps", plain, *own) == rows(hands, "workflow_run_steps", by_rules, *own)
    assert hands.events(plain) == hands.events(by_rules) == ["run.started"]


@pytest.mark.parametrize("definition", [PLAIN, RULES], ids=["plain", "by the rules"])
def test_one_wrong_input_starts_none_and_says_which(hands: Hands, definition: Document) -> None:
    register(hands.engine, definition)
    with pytest.raises(InvalidInput, match=r"inputs\[2\]\.n: is required"):
        start_many(hands.engine, "w", [{"n": 1}, {"n": 2}, {}])
    with hands.db.transaction() as conn:
        assert conn.execute(text("SELECT count(*) FROM workflow_runs")).scalar_one() == 0


def test_no_inputs_start_nothing(hands: Hands) -> None:
    register(hands.engine, PLAIN)
    assert start_many(hands.engine, "w", []) == []


def test_a_key_belongs_to_one_run(hands: Hands) -> None:
    register(hands.engine, PLAIN)
    with pytest.raises(ValueError, match="belongs to one run"):
        start_many(hands.engine, "w", [{"n": 1}], StartOptions(idempotency_key="k"))


def test_an_unknown_workflow_is_not_found(hands: Hands) -> None:
    register(hands.engine, PLAIN)
    with pytest.raises(NotFound, match="has no workflow 'x'"):
        start_many(hands.engine, "x", [{}])


@pytest.mark.parametrize("name", ['quo"te', "back\\slash", "{brace}", "NULL", "comma, dot.", "ünï 🎉", "it's 100%"])
def test_names_of_any_kind_start(hands: Hands, name: str) -> None:
    run = hands.start(document(step(name, queue=name), tags=[name]))
    assert list(hands.steps(run)) == [name]
    hands.work()
    assert hands.status(run) == "succeeded"
