"""Workflows, functions and workers."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

from orchestrator.errors import InvalidInput
from orchestrator.store.reads import list_functions, list_workers, list_workflows
from orchestrator.store.workers import WorkerInfo, announce, announce_functions, mark_stopped
from orchestrator.store.workflows import ensure_app, ensure_group, join_group
from tests.integration.reads.rows import add_run, add_steps, add_workflow


def test_workflows_are_told_by_name_with_owner_and_latest_revision(conn: Connection) -> None:
    add_workflow(conn, "zeta", label="Last")
    add_workflow(conn, "Alpha", app=None, group="shops", tags=["eu"], description="First")
    add_workflow(conn, "Alpha", app=None, group="shops", version="2026-03")
    items = list_workflows(conn).items
    assert [(i["name"], i["owner"], i["revision"], i["version"], i["label"]) for i in items] == [
        ("Alpha", {"kind": "group", "name": "shops"}, 2, "2026-03", None),
        ("zeta", {"kind": "app", "name": "default"}, 1, None, "Last"),
    ]


def test_pages_of_workflows_give_each_once_also_where_owners_share_a_name(conn: Connection) -> None:
    for name in ("b", "a", "C"):
        for app in ("one", "two"):
            add_workflow(conn, name, app=app)
    seen, after = [], None
    while True:
        page = list_workflows(conn, after, 1)
        seen += [(item["name"], item["owner"]["name"]) for item in page.items]
        if page.next is None:
            break
        after = page.next
    assert sorted(seen) == sorted((name, app) for name in "abC" for app in ("one", "two"))
    assert [name for name, _ in seen] == ["a", "a", "b", "b", "C", "C"]


def test_an_app_sees_its_own_workflows_and_its_groups(conn: Connection) -> None:
    join_group(conn, ensure_app(conn, "shop"), ensure_group(conn, "shops"))
    add_workflow(conn, "own", app="shop")
    add_workflow(conn, "shared", app=None, group="shops")
    add_workflow(conn, "foreign", app="other")
    assert [item["name"] for item in list_workflows(conn, app="shop").items] == ["own", "shared"]


@pytest.mark.parametrize("cursor", ["x", "", "bnVsbA", "W10", "[]", "名"])
def test_a_cursor_of_another_list_is_refused(conn: Connection, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="not a cursor"):
        list_workflows(conn, cursor)


def test_functions_are_told_by_name(conn: Connection) -> None:
    spec = {"module": "m", "queue": None, "description": "Charges.", "input_schema": {"type": "object"}}
    announce_functions(conn, [{"name": "b"} | spec, {"name": "a"} | spec | {"queue": "io"}])
    items = list_functions(conn)
    assert [(i["name"], i["queue"], i["input_schema"]) for i in items] == [
        ("a", "io", {"type": "object"}),
        ("b", None, {"type": "object"}),
    ]
    assert items[0]["seen_at"].endswith("+00:00")


def test_workers_are_alive_silent_or_stopped_and_tell_what_they_run(conn: Connection) -> None:
    for id in ("busy", "gone", "silent"):
        announce(conn, WorkerInfo(id, "worker", "host", 7, ["default", "io"], 4, "prefork", "0.1.0"))
    mark_stopped(conn, "gone")
    conn.execute(text("UPDATE workers SET seen_at = now() - interval '1 minute' WHERE id = 'silent'"))
    run_id = add_run(conn, add_workflow(conn), "running")
    add_steps(conn, run_id, {"a": "running", "b": "running"}, worker_id="busy")
    found = {item["id"]: item for item in list_workers(conn)}
    assert {id: item["status"] for id, item in found.items()} == {
        "busy": "alive",
        "gone": "stopped",
        "silent": "silent",
    }
    assert (found["busy"]["running"], found["busy"]["queues"]) == (2, ["default", "io"])
    assert list(found)[-1] == "gone"
    assert {i["id"]: i["status"] for i in list_workers(conn, silent_after=120)}["silent"] == "alive"
