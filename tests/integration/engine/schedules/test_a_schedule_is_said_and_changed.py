"""What may be said of a schedule, and what a change of it changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.schedules import (
    change_schedule,
    create_schedule,
    delete_schedule,
    pause_schedule,
    resume_schedule,
    set_schedule,
)
from orchestrator.store.reads.schedules import list_schedules, next_fire_of, next_fires, schedules_in_trouble
from tests.documents import document, step
from tests.hands import audited
from tests.scheduling import scheduled


@pytest.mark.parametrize(
    ("said", "paths"),
    [
        ({"cron": None, "interval_seconds": None}, ["cron"]),
        ({"cron": "* * * * *", "interval_seconds": 5}, ["cron"]),
        ({"interval_seconds": None, "cron": "61 * * * *", "timezone": "Mars/Olympus"}, ["cron", "timezone"]),
        ({"interval_seconds": 0, "catchup_seconds": -1, "jitter_seconds": 1.5}, 3),
        ({"max_failures": True, "revision": 0, "overlap": "maybe", "workflow": " "}, 4),
        ({"tags": ["a\0"], "input": {"a": "{{ unheard_of }}"}}, ["tags", "input"]),
        ({"tags": "text", "input": {"a": "{{ 1 +"}}, ["tags", "input"]),
    ],
)
def test_all_that_is_wrong_is_told_at_once(said: dict[str, Any], paths: list[str] | int) -> None:
    with scheduled() as it, pytest.raises(InvalidInput) as refused:
        create_schedule(it.engine, "new", {"workflow": "w", "interval_seconds": 5} | said)
    told = [problem.path for problem in refused.value.problems]
    assert told == paths or len(set(told)) == paths


def test_what_could_not_be_started_is_refused_before_it_is_kept() -> None:
    with scheduled() as it:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        it.box.register(document(step("a"), name="strict", input_schema=schema))
        with pytest.raises(NotFound, match="no workflow 'wv'.*did you mean 'w'"):
            create_schedule(it.engine, "new", {"workflow": "wv", "interval_seconds": 5})
        with pytest.raises(NotFound, match="no revision 7"):
            create_schedule(it.engine, "new", {"workflow": "w", "interval_seconds": 5, "revision": 7})
        with pytest.raises(InvalidInput, match="input.n"):
            create_schedule(it.engine, "new", {"workflow": "strict", "interval_seconds": 5, "input": {"n": "x"}})
        with pytest.raises(Conflict, match="has a schedule 'S' already"):
            create_schedule(it.engine, "S", {"workflow": "w", "interval_seconds": 5})
        with pytest.raises(NotFound, match="there is no schedule 'ss'; did you mean 's'"):
            pause_schedule(it.engine, "ss")


def test_the_input_may_name_its_fire_time() -> None:
    with scheduled(input={"day": "{{ fire_at[:10] }}", "of": "{{ schedule }}"}) as it:
        it.wait(60)
        assert it.runs()[0]["input"] == {"day": "2026-03-02", "of": "s"}
        assert it.runs()[0]["schedule"]["fire_at"] == "2026-03-02T08:01:00.000000+00:00"


def test_a_change_of_the_input_does_not_move_the_next_fire_time() -> None:
    with scheduled() as it:
        it.wait(90, ticks=0)
        changed = set_schedule(it.engine, "s", {"workflow": "w", "input": {"n": 1}}, actor="ann")
        assert (changed.created, changed.changed) == (False, True)
        it.wait(0)
        assert it.runs()[0]["input"] == {"n": 1}
        assert not set_schedule(it.engine, "s", {"input": {"n": 1}, "interval_seconds": 60}, actor="ann").changed
        change_schedule(it.engine, "s", {"cron": "0 9 * * *", "timezone": "Europe/Paris"}, actor="ann")
        view = it.view()
        assert (view["cron"], view["interval_seconds"]) == ("0 9 * * *", None)
        assert view["next_fires"][:2] == ["2026-03-03T08:00:00.000000+00:00", "2026-03-04T08:00:00.000000+00:00"]
        assert [one[0] for one in audited(it.box.connection, "change_schedule")] == ["ann", "ann"]


def test_secret_fields_of_the_input_are_hidden_and_kept_by_a_change_that_shows_them_so() -> None:
    with scheduled() as it:
        schema = {"type": "object", "properties": {"key": {"type": "string", "writeOnly": True}}}
        it.box.register(document(step("a"), name="secret", input_schema=schema))
        set_schedule(it.engine, "t", {"workflow": "secret", "interval_seconds": 60, "input": {"key": "hush-hush"}})
        (shown,) = list_schedules(it.box.connection, workflow="secret").items
        assert shown["input"] == {"key": "***"}
        set_schedule(it.engine, "t", {"input": shown["input"], "tags": ["x"]})
        kept = it.box.connection.execute(text("SELECT input FROM schedules WHERE name = 't'")).scalar_one()
        assert kept == {"key": "hush-hush"}
        audit = it.box.connection.execute(text("SELECT data FROM audit_log WHERE target_kind = 'schedule'")).scalars()
        assert "hush" not in json.dumps(list(audit))


def test_lists_find_what_wants_a_person() -> None:
    with scheduled() as it:
        set_schedule(it.engine, "t", {"workflow": "w", "cron": "0 12 * * *"}, paused=True)
        conn = it.box.connection
        standing = {
            one: [item["name"] for item in list_schedules(conn, standing=one).items] for one in ("active", "paused")
        }
        assert standing == {"active": ["s"], "paused": ["t"]}
        assert schedules_in_trouble(conn) == []
        assert next_fire_of(conn, ["W"])["w"] == {"at": "2026-03-02T08:01:00.000000+00:00", "schedule": "s"}
        assert next_fires(conn, "t", count=2) == [f"2026-03-0{day}T12:00:00.000000+00:00" for day in (2, 3)]
        it.wait(200, ticks=0)
        assert [one["name"] for one in schedules_in_trouble(conn)] == ["s"]
        assert [item["name"] for item in list_schedules(conn, standing="late").items] == ["s"]
        first = list_schedules(conn, limit=1)
        assert [item["name"] for item in list_schedules(conn, first.next, 1).items] == ["t"]


def test_what_was_decided_ends_with_the_schedule_and_its_runs_stay() -> None:
    with scheduled() as it:
        it.wait(60)
        (run,) = it.runs()
        delete_schedule(it.engine, "s", reason="done", actor="ann")
        assert it.count("schedule_fires") == 0
        assert it.box.result(run["id"]).status == "running"
        counted = it.box.connection.execute(text("SELECT count FROM metric_counts WHERE name = 'schedule.started'"))
        assert counted.scalar_one() == 1, "counters never fall"
        assert audited(it.box.connection, "delete_schedule") == [("ann", "s", "done")]
        with pytest.raises(NotFound):
            resume_schedule(it.engine, "s")
