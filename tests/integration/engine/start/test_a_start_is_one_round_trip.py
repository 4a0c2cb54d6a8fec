"""A process that has started a workflow before knows its revision, and the database tells it when there is another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, text

from orchestrator.errors import InvalidInput
from orchestrator.functions import Registry
from orchestrator.services.apps import set_app
from orchestrator.services.engine import Engine
from orchestrator.services.register import register
from orchestrator.services.start import start, start_many
from orchestrator.services.start_plain import StartOptions
from orchestrator.services.unregister import unregister
from orchestrator.store.db import Call, Database
from orchestrator.store.workers import announce_functions
from orchestrator.store.workflows import Found, Wanted, find_ids
from tests.documents import Document, document, step
from tests.hands import Hands, Outbox

INTEGER = {"type": "object", "properties": {"n": {"type": "integer"}}}
TEXT = {"type": "object", "properties": {"n": {"type": "string"}}}


@pytest.fixture
def hands(db: Database) -> Hands:
    return Hands(db)


def other_process(hands: Hands) -> Engine:
    """Another process on the same database; it has no functions."""
    return Engine(hands.db, Registry(), Outbox())


def revision_of(hands: Hands, run_id: str) -> int:
    number = text(
        "SELECT v.number FROM workflow_runs r JOIN workflow_revisions v ON v.id = r.revision_id WHERE r.id = :id"
    )
    with hands.db.transaction() as conn:
        return int(conn.execute(number, {"id": run_id}).scalar_one())


def queues(hands: Hands, run_id: str) -> list[tuple[str, str | None]]:
    """Status and queue of each step."""
    found = text("SELECT status, queue FROM workflow_run_steps WHERE run_id = :id ORDER BY position")
    with hands.db.transaction() as conn:
        return [tuple(row) for row in conn.execute(found, {"id": run_id})]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions of the database that are called, and each begin of a transaction."""
    told: list[str] = []
    real = Database.call

    def call(self: Database, statement: str, values: Sequence[Any], **options: Any) -> list[tuple[Any, ...]]:
        told.append(statement.partition(" FROM ")[2].partition("(")[0])
        return real(self, statement, values, **options)

    monkeypatch.setattr(Database, "call", call)
    real_connection = Database.new_connection

    def connect(self: Database) -> Connection:
        told.append("transaction")
        return real_connection(self)

    monkeypatch.setattr(Database, "new_connection", connect)
    return told


@pytest.mark.parametrize("inputs", [1, 3])
def test_a_start_of_a_known_revision_is_one_statement_and_no_transaction_of_more(
    hands: Hands, asked: list[str], monkeypatch: pytest.MonkeyPatch, inputs: int
) -> None:
    monkeypatch.setattr("orchestrator.services.start.dispatch_starts", lambda *_: None)
    hands.start(document(step("a")))
    asked.clear()
    start_many(hands.engine, "w", [{}] * inputs)
    assert asked == ["orchestrator_start"]


def test_a_start_after_a_registration_elsewhere_is_of_the_new_revision(hands: Hands) -> None:
    elsewhere = other_process(hands)
    for number in range(1, 4):
        register(hands.engine, document(step("a"), description=str(number)))
        assert revision_of(hands, start(elsewhere, "w").run_id) == number
        assert revision_of(hands, start_many(elsewhere, "w", [{}, {}])[1].run_id) == number


def test_a_revision_asked_for_by_its_number_stays_that_one(hands: Hands) -> None:
    for number in range(1, 4):
        register(hands.engine, document(step("a"), description=str(number)))
        assert revision_of(hands, start(hands.engine, "w", options=StartOptions(revision=1)).run_id) == 1


def test_an_apps_own_workflow_hides_its_groups_from_a_process_that_has_started_that(hands: Hands) -> None:
    register(hands.engine, document(step("a", queue="own"), name="other"))
    set_app(hands.db, "default", group="g")
    register(hands.engine, document(step("a", queue="groups")), group="g")
    elsewhere = other_process(hands)
    assert queues(hands, start(elsewhere, "w").run_id) == [("queued", "groups")]
    register(hands.engine, document(step("a", queue="own")))
    assert queues(hands, start(elsewhere, "w").run_id) == [("queued", "own")]


RESTORING = """
CREATE FUNCTION restore() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN UPDATE workflows SET deleted_at = NULL; RETURN NULL; END $$;
CREATE TRIGGER restore AFTER INSERT ON workflow_runs FOR EACH STATEMENT EXECUTE FUNCTION restore()
"""


@pytest.mark.parametrize("key", [None, "k"])
def test_a_workflow_that_is_away_for_a_moment_only_is_started(
    hands: Hands, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    """Deleted when it has just been found, and there again when nothing was inserted."""
    register(hands.engine, document(step("a")))
    with hands.db.transaction() as conn:
        conn.exec_driver_sql(RESTORING)
    found: list[Found | None] = []

    def find(call: Call, wanted: Wanted) -> Found | None:
        found.append(find_ids(call, wanted))
        if len(found) == 1:
            unregister(hands.engine, "w")
        return found[-1]

    monkeypatch.setattr("orchestrator.store.workflows.find_ids", find)
    assert start(hands.engine, "w", options=StartOptions(idempotency_key=key)).created
    assert len(found) == 2


def test_an_input_is_checked_by_the_newest_revision_whatever_is_remembered(hands: Hands) -> None:
    elsewhere = other_process(hands)
    register(hands.engine, document(step("a"), input_schema=INTEGER))
    start(elsewhere, "w", {"n": 1})
    register(hands.engine, document(step("a"), input_schema=TEXT))
    start(elsewhere, "w", {"n": "one"})
    with pytest.raises(InvalidInput, match="n: "):
        start(elsewhere, "w", {"n": 1})


def by_a_rule(**keys: Any) -> Document:
    return document(step("a", **keys), vars={"v": 1})


def test_a_workflow_may_become_plain_and_cease_to_be(hands: Hands) -> None:
    elsewhere = other_process(hands)
    for made in (by_a_rule(), document(step("a")), by_a_rule(label="again")):
        register(hands.engine, made)
        run_id = start(elsewhere, "w").run_id
        assert hands.steps(run_id)["a"]["status"] == "queued"


@pytest.mark.parametrize(("announced", "expected"), [("special", "special"), (None, "default")])
def test_a_process_without_functions_starts_plainly_on_the_queue_that_workers_announced(
    hands: Hands, monkeypatch: pytest.MonkeyPatch, announced: str | None, expected: str
) -> None:
    monkeypatch.setattr("orchestrator.services.start._start", None)  # by the rules
    register(hands.engine, document(step("a", function="far"), step("b", "a", function="far")))
    elsewhere = other_process(hands)
    with hands.db.transaction() as conn:
        announce_functions(conn, [{"name": "far", "module": "m", "queue": announced, "description": None}])
    run_id = start(elsewhere, "w").run_id
    assert queues(hands, run_id) == [("queued", expected), ("pending", None)]


def test_a_function_nobody_has_announced_goes_to_the_default_queue(hands: Hands) -> None:
    register(hands.engine, document(step("a", function="nobodys")))
    assert queues(hands, start(other_process(hands), "w").run_id) == [("queued", "default")]
