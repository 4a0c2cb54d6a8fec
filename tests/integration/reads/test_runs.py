"""Runs in lists and alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from orchestrator.domain.states import RunStatus
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.ids import new_id
from orchestrator.store.reads import RunFilters, get_run, list_runs
from tests.integration.reads.rows import NOW, add_run, add_steps, add_workflow, keys_of

SHAPE = keys_of("A run")


def ids(conn: Connection, **filters: Any) -> list[str]:
    return [item["id"] for item in list_runs(conn, RunFilters(**filters)).items]


def test_a_run_has_the_keys_the_page_says(conn: Connection) -> None:
    run_id = add_run(conn, add_workflow(conn), "failed", tags=["eu"], input={"amount": 5})
    add_steps(conn, run_id, {"check": "succeeded", "charge": "failed", "ship": "upstream_failed"})

    run = get_run(conn, run_id)

    assert list(run) == SHAPE
    assert run == list_runs(conn, RunFilters()).items[0]
    assert run | {"id": 0, "root_id": 0} == {
        "id": 0,
        "workflow": "order",
        "revision": 1,
        "app": "default",
        "status": "failed",
        "input": {"amount": 5},
        "output": None,
        "error": {"type": "ValueError", "message": "no such card", "step": "charge"},
        "tags": ["eu"],
        "created_at": "2026-03-01T12:00:00.000000+00:00",
        "started_at": "2026-03-01T12:00:00.000000+00:00",
        "finished_at": "2026-03-01T12:00:12.000000+00:00",
        "paused": False,
        "pause_reason": None,
        "root_id": 0,
        "parent_run_id": None,
        "depth": 0,
        "counts": {"failed": 1, "succeeded": 1, "upstream_failed": 1},
        "parent_step": None,
        "parent_item": None,
        "rerun_of": None,
        "schedule": None,
    }


@pytest.mark.parametrize("id", ["01a22000-0000-7000-8000-000000000000", "latest", "", "x" * 36])
def test_a_run_that_is_not_there_is_not_found(conn: Connection, id: str) -> None:
    with pytest.raises(NotFound, match="there is no run"):
        get_run(conn, id)


def test_pages_give_every_run_once_newest_first_while_others_are_started(conn: Connection) -> None:
    revision = add_workflow(conn)
    made = [add_run(conn, revision) for _ in range(7)]
    seen: list[str] = []
    after: str | None = None
    while True:
        page = list_runs(conn, RunFilters(), after, 3)
        assert len(page.items) == 3 or page.next is None
        seen += [item["id"] for item in page.items]
        add_run(conn, revision)
        if page.next is None:
            break
        after = page.next
    assert seen == made[::-1]


def test_a_full_last_page_has_no_next(conn: Connection) -> None:
    revision = add_workflow(conn)
    for _ in range(3):
        add_run(conn, revision)
    assert list_runs(conn, RunFilters(), None, 3).next is None


@pytest.mark.parametrize("cursor", ["x", "", "7", "a" * 36])
def test_a_cursor_of_another_list_is_refused(conn: Connection, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="not a cursor"):
        list_runs(conn, RunFilters(), cursor)


def test_runs_are_found_by_workflow_in_any_case_whoever_owns_it(conn: Connection) -> None:
    mine = add_run(conn, add_workflow(conn, "Straße"))
    theirs = add_run(conn, add_workflow(conn, "STRASSE", app=None, group="shops"))
    add_run(conn, add_workflow(conn, "other"))
    assert ids(conn, workflow="strasse") == [theirs, mine]


def test_an_unknown_workflow_or_app_is_not_found_and_a_near_one_named(conn: Connection) -> None:
    add_workflow(conn, "order")
    with pytest.raises(NotFound, match="no workflow 'ordre'; did you mean 'order'"):
        ids(conn, workflow="ordre")
    with pytest.raises(NotFound, match="no app named 'shop'"):
        ids(conn, app="shop")


def test_runs_are_found_by_status_app_and_tags(conn: Connection) -> None:
    revision = add_workflow(conn)
    plain = add_run(conn, revision, "running")
    paused = add_run(conn, revision, "paused", pause_reason="lunch")
    failed = add_run(conn, revision, "failed", app="shop", tags=["eu", "nightly"])
    assert ids(conn, statuses=[RunStatus.RUNNING, RunStatus.PAUSED]) == [paused, plain]
    assert ids(conn, app="SHOP") == [failed]
    assert ids(conn, tags=["nightly", "eu"]) == [failed]
    assert ids(conn, tags=["nightly", "us"]) == []
    assert get_run(conn, paused)["paused"] is True


def test_runs_are_found_by_when_they_were_created(conn: Connection) -> None:
    revision = add_workflow(conn)
    days = [add_run(conn, revision, created_at=NOW - timedelta(days=n), id=_id_at(n)) for n in (3, 2, 1, 0)]
    assert ids(conn, created_after=NOW - timedelta(days=2)) == days[:0:-1]
    assert ids(conn, created_before=NOW - timedelta(days=2)) == [days[0]]
    assert ids(conn, created_after=NOW - timedelta(days=2), created_before=NOW) == [days[2], days[1]]


def test_a_run_started_by_a_machine_whose_clock_is_hours_off_is_found_by_the_databases_time(conn: Connection) -> None:
    late = add_run(conn, add_workflow(conn), created_at=NOW, id=_id_at(0.9))
    early = add_run(conn, add_workflow(conn), created_at=NOW, id=_id_at(-0.9))
    window = {"created_after": NOW - timedelta(minutes=1), "created_before": NOW + timedelta(minutes=1)}
    assert ids(conn, **window) == [early, late]


def _id_at(days_ago: float) -> str:
    milliseconds = int((NOW - timedelta(days=days_ago)).timestamp() * 1000)
    return f"{milliseconds >> 16:08x}-{milliseconds & 0xFFFF:04x}-7000-8000-{new_id()[-12:]}"


@pytest.mark.parametrize("message", ["100% of a_b", "back\\slash", "名前が違う", "[bold]it's[/]"])
def test_runs_are_found_by_a_part_of_their_error_taken_literally(conn: Connection, message: str) -> None:
    revision = add_workflow(conn)
    error = {"type": "E", "message": f"before {message} after", "step": None}
    wanted = add_run(conn, revision, "failed", error=error)
    add_run(conn, revision, "failed", error=error | {"message": "100 of aXb, back/slash, it is"})
    add_run(conn, revision, "succeeded")
    assert ids(conn, error=message.upper()) == [wanted]


def test_all_filters_hold_together(conn: Connection) -> None:
    revision = add_workflow(conn)
    wanted = add_run(conn, revision, "failed", tags=["eu"], id=_id_at(0))
    for given in ({"tags": ["us"]}, {"status": "canceled", "tags": ["eu"]}):
        add_run(conn, revision, **({"status": "failed", "id": _id_at(0)} | given))
    filters = {"workflow": "order", "app": "default", "statuses": [RunStatus.FAILED], "tags": ["eu"], "error": "CARD"}
    assert ids(conn, **filters, created_after=NOW, created_before=NOW + timedelta(seconds=1)) == [wanted]


def test_secret_fields_are_masked_wherever_a_run_shows_them(conn: Connection) -> None:
    secret = {"type": "string", "writeOnly": True}
    schemas = {"input_schema": {"properties": {"card": secret}}, "output_schema": {"properties": {"token": secret}}}
    revision = add_workflow(conn, **schemas)
    error = {"type": "E", "message": "4111-22 was declined", "step": None}
    given = {"input": {"card": "4111-22", "note": "4111-22"}, "output": {"token": "t", "card": "4111-22"}}
    run = get_run(conn, add_run(conn, revision, "failed", error=error, **given))
    assert run["input"] == {"card": "***", "note": "***"}
    assert run["output"] == {"token": "***", "card": "***"}
    assert run["error"]["message"] == "*** was declined"
