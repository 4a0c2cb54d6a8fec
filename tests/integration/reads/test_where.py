"""Runs by values of their input."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, text

from orchestrator.domain.where import read_all
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters, list_runs
from orchestrator.store.reads.histogram import count_over_time
from orchestrator.store.reads.run_rows import list_run_rows
from orchestrator.store.reads.runs import conditions_of
from tests.integration.reads.rows import NOW, add_run, add_workflow

SECRET = {"type": "object", "properties": {"card": {"type": "string", "writeOnly": True}}}


def found(conn: Connection, *where: str, workflow: str | None = None) -> list[str]:
    filters = RunFilters(workflow=workflow, where=read_all(where))
    return [item["id"] for item in list_runs(conn, filters).items]


def test_runs_are_found_by_values_of_their_input(conn: Connection) -> None:
    order, other = add_workflow(conn), add_workflow(conn, "other")
    number = add_run(conn, order, input={"customer": {"id": 42, "vip": True}, "items": [{"sku": "a"}, {"sku": "b"}]})
    words = add_run(conn, other, input={"customer": {"id": "42"}, "items": [], "a.b": 1})
    add_run(conn, order, input=[1, 2])
    add_run(conn, order, input={})
    assert found(conn, "input.customer.id=42") == [words, number]
    assert found(conn, "input.customer.id=42", workflow="Order") == [number]
    assert found(conn, 'input.customer.id="42"') == [words]
    assert found(conn, "input.items[].sku=b", "input.customer.vip=true") == [number]
    assert found(conn, 'input."a.b"=1') == [words]
    assert found(conn, "input.customer=42") == []


def test_pages_of_them_go_both_ways(conn: Connection) -> None:
    revision = add_workflow(conn)
    ids = [add_run(conn, revision, input={"n": place % 2}) for place in range(9)][::-1][::2]
    filters = RunFilters(where=read_all(["input.n=0"]))
    first = list_run_rows(conn, filters, limit=2)
    second = list_run_rows(conn, filters, after=first.older, limit=2)
    back = list_run_rows(conn, filters, before=second.newer, limit=2)
    shown = [[run["id"] for run in page.items] for page in (first, second, back)]
    assert shown == [ids[:2], ids[2:4], ids[:2]]


def test_a_secret_value_finds_nothing_by_whichever_revision(conn: Connection) -> None:
    open_first = add_workflow(conn)
    known = add_run(conn, open_first, input={"card": "4111", "id": 1})
    hidden = add_workflow(conn, input_schema=SECRET)
    run = add_run(conn, hidden, input={"card": "4111", "id": 1})
    assert found(conn, "input.card=4111") == [known]
    assert found(conn, "input.card=4111", workflow="order") == [known]
    assert found(conn, "input.id=1") == [run, known]


def test_a_large_input_is_not_searched(conn: Connection) -> None:
    revision = add_workflow(conn)
    add_run(conn, revision, input={"id": 7, "more": "x" * 1000})
    small = add_run(conn, revision, input={"id": 7, "more": "x" * 900})
    assert found(conn, "input.id=7") == [small]


def test_they_are_counted_over_time(conn: Connection) -> None:
    revision = add_workflow(conn)
    add_run(conn, revision, "failed", input={"id": 7})
    add_run(conn, revision, input={"id": 8})
    now = conn.execute(text("SELECT now()")).scalar_one()
    filters = RunFilters(where=read_all(["input.id=7"]))
    counted = count_over_time(conn, filters, [now - timedelta(hours=1), now], timedelta(hours=1))
    assert [bucket.counts for bucket in counted] in ([{"failed": 1}, {}], [{}, {"failed": 1}])


def test_the_index_answers(db: Database) -> None:
    with db.transaction() as conn:
        revision = add_workflow(conn)
        add_run(conn, revision, input={"id": 7}, created_at=NOW)
        where, values = conditions_of(conn, RunFilters(where=read_all(["input.id=7"])))
        conn.execute(text("SET LOCAL enable_seqscan = off"))
        conn.execute(text("SET LOCAL enable_indexscan = off"))
        plan = conn.execute(text(f"EXPLAIN SELECT r.id FROM workflow_runs r WHERE {where}"), values).scalars()
        assert "workflow_runs_input_idx" in "\n".join(plan)
        secret = "SELECT id FROM workflow_revisions WHERE strpos(CAST(document AS text), 'writeOnly') > 0"
        assert "workflow_revisions_secret_idx" in "\n".join(conn.execute(text(f"EXPLAIN {secret}")).scalars())
