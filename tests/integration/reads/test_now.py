"""What Home, the workflows, the pools and the audit log are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection

from orchestrator.store.db import Database
from orchestrator.store.events import audit
from orchestrator.store.reads.audit_rows import AuditFilters, list_actions, list_audit_rows
from orchestrator.store.reads.causes import list_causes
from orchestrator.store.reads.latency import latency_over_time
from orchestrator.store.reads.now import numbers_now
from orchestrator.store.reads.queue_rows import list_queue_rows
from orchestrator.store.reads.stuck import list_late
from orchestrator.store.reads.workflow_rows import lately_of, list_workflow_rows
from orchestrator.store.workers import WorkerInfo, announce
from tests.integration.reads.rows import add_run, add_steps, add_workflow

SECRET = {"input_schema": {"type": "object", "properties": {"card": {"type": "string", "writeOnly": True}}}}


@pytest.fixture
def conn(module_db: Database) -> Iterator[Connection]:
    """A transaction that is rolled back: each test has an empty database."""
    with module_db.engine.connect() as open_:
        yield open_


def _failed(conn: Connection, revision: str, message: str, kind: str = "E", **given: object) -> str:
    now = datetime.now(UTC)
    error = {"type": kind, "message": message, "step": "pay"}
    return add_run(conn, revision, "failed", error=error, created_at=now, started_at=now, finished_at=now, **given)


def _since() -> datetime:
    return datetime.now(UTC) - timedelta(days=1)


def test_runs_that_failed_alike_are_one_cause_whatever_numbers_they_say(conn: Connection) -> None:
    order, bill = add_workflow(conn, "order"), add_workflow(conn, "bill", app="other")
    _failed(conn, order, "bank 17 said no\ntraceback")
    second = _failed(conn, order, "bank 4,211.5 said no")
    _failed(conn, order, "bank 17 said no", kind="Other")
    last = _failed(conn, bill, "bank 17 said no", app="other")
    found = list_causes(conn, _since())
    assert [(one.workflow, one.type, one.count) for one in found.items] == [
        ("bill", "E", 1),
        ("order", "Other", 1),
        ("order", "E", 2),
    ]
    assert (found.items[2].line, found.items[2].common, found.items[2].run_id) == (
        "bank 4,211.5 said no",
        "said no",
        second,
    )
    assert (found.count, found.more) == (4, False)
    assert [one.run_id for one in list_causes(conn, _since(), app="other").items] == [last]


def test_what_failed_before_and_what_failed_within_another_run_is_no_cause_of_its_own(conn: Connection) -> None:
    order = add_workflow(conn)
    parent = _failed(conn, order, "below: no")
    _failed(conn, order, "no", parent_run_id=parent)
    add_run(conn, order, "failed")  # long ago
    assert [one.run_id for one in list_causes(conn, _since()).items] == [parent]


def test_a_cause_does_not_tell_secrets_of_its_runs(conn: Connection) -> None:
    order = add_workflow(conn, **SECRET)
    _failed(conn, order, "card sesame-street was declined", input={"card": "sesame-street"})
    (cause,) = list_causes(conn, _since()).items
    assert (cause.line, cause.common) == ("card *** was declined", "was declined")


def test_queues_tell_what_waits_and_whether_anybody_listens(conn: Connection) -> None:
    run = add_run(conn, add_workflow(conn), "running")
    ready = datetime.now(UTC) - timedelta(minutes=5)
    add_steps(conn, run, {"a": "ready", "b": "ready"}, queue="lonely", ready_at=ready)
    add_steps(conn, add_run(conn, add_workflow(conn, "w2"), "running"), {"c": "ready"}, queue="mail", ready_at=ready)
    info = WorkerInfo(
        id="w", kind="worker", host="h", pid=1, queues=["mail", "idle"], concurrency=1, pool=None, version="0"
    )
    announce(conn, info)
    found = {queue["name"]: queue for queue in list_queue_rows(conn)}
    assert sorted(found) == ["idle", "lonely", "mail"]
    assert (found["lonely"]["ready"], found["lonely"]["workers"], found["lonely"]["stuck"]) == (2, 0, True)
    assert (found["mail"]["ready"], found["mail"]["workers"], found["mail"]["stuck"]) == (1, 1, False)
    assert datetime.fromisoformat(found["lonely"]["oldest"]) == ready
    assert not found["idle"]["stuck"]
    announce(conn, replace(info, id="v", queues=["*"]))
    found = {queue["name"]: queue for queue in list_queue_rows(conn)}
    assert (sorted(found), found["lonely"]["stuck"]) == (["idle", "lonely", "mail"], False)


def test_a_run_is_late_from_half_of_its_time_on(conn: Connection) -> None:
    order, now = add_workflow(conn), datetime.now(UTC)
    times = {"created_at": now - timedelta(minutes=6)}
    late = add_run(conn, order, "running", deadline_at=now + timedelta(minutes=4), **times)
    add_run(conn, order, "running", deadline_at=now + timedelta(minutes=8), **times)
    add_run(conn, order, "running", **times)
    assert [run["run_id"] for run in list_late(conn)] == [late]


def test_numbers_are_of_the_app_that_asks(conn: Connection) -> None:
    assert not numbers_now(conn)["ever"]
    for app in ("default", "other", "other"):
        add_run(conn, add_workflow(conn, app=app), "running", app=app)
    assert numbers_now(conn)["open"] == {"running": 3}
    assert numbers_now(conn, app="other")["open"] == {"running": 2}


def test_how_long_runs_took_is_told_for_each_stretch_of_time(conn: Connection) -> None:
    order, now = add_workflow(conn), datetime.now(UTC)
    for seconds in range(1, 101):
        add_run(conn, order, created_at=now, started_at=now, finished_at=now + timedelta(seconds=seconds))
    before, last = latency_over_time(conn, now - timedelta(hours=1), now + timedelta(hours=1), 2)
    assert (before.runs, before.p50) == (0, None)
    assert (last.runs, last.p50, last.p95) == (100, pytest.approx(50.5), pytest.approx(95.05))


def test_workflows_are_found_by_name_label_and_tag_and_an_app_sees_its_own_numbers(conn: Connection) -> None:
    add_workflow(conn, "50%_off", label="Bargains", tags=["Shop"])
    own = add_workflow(conn, "ORDER", app="other")
    names = {
        words: [one["name"] for one in list_workflow_rows(conn, words=words).items]
        for words in ("%_O", "barg", "shop", "order", "%%")
    }
    assert names == {"%_O": ["50%_off"], "barg": ["50%_off"], "shop": ["50%_off"], "order": ["ORDER"], "%%": []}
    (one,) = list_workflow_rows(conn, app="other").items
    run = add_run(conn, own, app="other")
    add_run(conn, own, "failed")
    assert [last.id for last in lately_of(conn, [one["id"]], app="other")[one["id"]].runs] == [run]
    assert lately_of(conn, [one["id"]])[one["id"]].success == 0.5


def test_workflows_are_paged_by_name(conn: Connection) -> None:
    for name in ("a", "b", "c"):
        add_workflow(conn, name)
    first = list_workflow_rows(conn, limit=2)
    assert [one["name"] for one in list_workflow_rows(conn, after=first.next, limit=2).items] == ["c"]


def test_the_audit_log_is_filtered_and_paged(conn: Connection) -> None:
    for place in range(5):
        audit(conn, "cli:ana" if place % 2 else "web:bob", "set_pool" if place else "register", "pool", f"p{place}")
    first = list_audit_rows(conn, AuditFilters(actor="web:bob"), limit=2)
    assert [entry["target"] for entry in first.items] == ["p4", "p2"]
    rest = list_audit_rows(conn, AuditFilters(actor="web:bob"), after=first.next, limit=2)
    assert ([entry["target"] for entry in rest.items], rest.next) == (["p0"], None)
    assert [entry["target"] for entry in list_audit_rows(conn, AuditFilters(action="register")).items] == ["p0"]
    assert list_actions(conn) == ["register", "set_pool"]
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    assert len(list_audit_rows(conn, AuditFilters(until=tomorrow)).items) == 5
    assert list_audit_rows(conn, AuditFilters(since=tomorrow)).items == []
    assert list_audit_rows(conn, AuditFilters(kinds=["run"])).items == []


def test_an_app_sees_what_was_done_to_its_runs_and_its_own_workflows_only(conn: Connection) -> None:
    own = add_run(conn, add_workflow(conn, app="Other"), app="Other")
    others = add_run(conn, add_workflow(conn))
    for run in (own, others):
        audit(conn, "a", "cancel", "run", run)
    for owner in ("app Other", "app default", "group Other"):
        audit(conn, "a", "register", "workflow", "w", data={"owner": owner})
    audit(conn, "a", "set", "app", "Other")
    audit(conn, "a", "create_token", "token", "t")
    seen = list_audit_rows(conn, AuditFilters(), app="Other").items
    assert [entry["target_kind"] for entry in seen] == ["app", "workflow", "run"]
    assert seen[2]["target"] == own
    page = list_audit_rows(conn, AuditFilters(), app="Other", limit=2)
    assert [entry["target"] for entry in list_audit_rows(conn, AuditFilters(), app="Other", after=page.next).items] == [
        own
    ]
