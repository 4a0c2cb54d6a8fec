"""Steps, attempts, logs and events of a run."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Connection

from orchestrator.domain.states import StepStatus
from orchestrator.errors import InvalidInput, NotFound
from orchestrator.ids import new_id
from orchestrator.services.look import look
from orchestrator.store.reads import (
    get_step,
    last_logs,
    list_attempts,
    list_briefs,
    list_events,
    list_logs,
    list_steps,
    load_secrets,
    step_counts,
    step_statuses,
)
from tests.integration.reads.rows import (
    NOW,
    add_attempt,
    add_event,
    add_log,
    add_run,
    add_steps,
    add_workflow,
    keys_of,
)

SHAPE = keys_of("A step")
HOSTILE = ["a.b-c#1", "50%/x:y", "[bold]x[/]", "名前", "x" * 124, "-x", "'; --", "مرحبا"]


@pytest.fixture
def run_id(conn: Connection) -> str:
    return add_run(conn, add_workflow(conn), "running")


def test_a_step_has_the_keys_the_page_says(conn: Connection, run_id: str) -> None:
    add_steps(conn, run_id, {"charge": "failed"}, input={"amount": 5}, worker_id="w1", lost_count=1, attempt=3)

    step = get_step(conn, run_id, "charge")

    assert list(step) == SHAPE
    assert [step] == list_steps(conn, run_id).items
    assert step | {"id": 0} == {
        "id": 0,
        "name": "charge",
        "status": "failed",
        "reason": "error",
        "attempt": 3,
        "max_attempts": 3,
        "input": {"amount": 5},
        "output": None,
        "error": {"type": "ValueError", "message": "no such card"},
        "queue": "default",
        "worker": "w1",
        "ready_at": None,
        "started_at": "2026-03-01T12:00:00.000000+00:00",
        "finished_at": "2026-03-01T12:00:00.000000+00:00",
        "next_attempt_at": None,
        "child_run_id": None,
        "items": None,
        "held": None,
        "reused": False,
    }


def test_pages_give_every_step_once_in_graph_order(conn: Connection, run_id: str) -> None:
    names = [f"s{i}" for i in range(25)]
    add_steps(conn, run_id, dict.fromkeys(names, "succeeded"))
    seen, after, pages = [], None, 0
    while True:
        page = list_steps(conn, run_id, after=after, limit=10)
        seen += [item["name"] for item in page.items]
        pages += 1
        if page.next is None:
            break
        after = page.next
    assert (seen, pages) == (names, 3)


def test_steps_are_chosen_by_one_state_or_by_several(conn: Connection, run_id: str) -> None:
    add_steps(conn, run_id, {"a": "succeeded", "b": "running", "c": "failed", "d": "pending"})
    failed = list_steps(conn, run_id, StepStatus.FAILED).items
    several = list_steps(conn, run_id, [StepStatus.FAILED, StepStatus.RUNNING]).items
    assert [item["name"] for item in failed] == ["c"]
    assert [item["name"] for item in several] == ["b", "c"]
    assert step_counts(conn, run_id) == {"failed": 1, "pending": 1, "running": 1, "succeeded": 1}
    assert step_statuses(conn, run_id)[3] is StepStatus.PENDING


@pytest.mark.parametrize("cursor", ["x", "-1", "", "1" * 30, "１"])
def test_a_cursor_of_another_list_is_refused(conn: Connection, run_id: str, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="not a cursor"):
        list_steps(conn, run_id, after=cursor)


def test_steps_of_any_name_are_found(conn: Connection, run_id: str) -> None:
    ids = add_steps(conn, run_id, dict.fromkeys(HOSTILE, "succeeded"))
    for name in HOSTILE:
        add_log(conn, run_id, ids[name], [name])
        add_attempt(conn, ids[name], 1, "succeeded")
    for name in HOSTILE:
        assert get_step(conn, run_id, name)["name"] == name
        assert [line["message"] for line in list_logs(conn, run_id, name).items] == [name]
        assert len(list_attempts(conn, run_id, name)) == 1


def test_a_wrong_step_name_is_not_found_and_a_near_one_named(conn: Connection, run_id: str) -> None:
    add_steps(conn, run_id, {"charge": "succeeded"})
    for read in (get_step, list_attempts, list_logs):
        with pytest.raises(NotFound, match="no step 'chrage'; did you mean 'charge'"):
            read(conn, run_id, "chrage")
    with pytest.raises(NotFound, match="there is no run"):
        get_step(conn, new_id(), "charge")


def test_attempts_are_told_in_order_with_their_errors(conn: Connection, run_id: str) -> None:
    step = add_steps(conn, run_id, {"charge": "running"})["charge"]
    add_attempt(conn, step, 2, "lost", worker_id="w2")
    add_attempt(conn, step, 1, "failed", error={"type": "E", "message": "m"}, retry_at=NOW + timedelta(seconds=5))
    attempts = list_attempts(conn, run_id, "charge")
    assert [(a["number"], a["outcome"], a["worker"]) for a in attempts] == [(1, "failed", None), (2, "lost", "w2")]
    assert attempts[0]["error"] == {"type": "E", "message": "m"}
    assert attempts[0]["retry_at"] == "2026-03-01T12:00:05.000000+00:00"


def test_log_lines_are_paged_and_chosen_by_step_and_attempt(conn: Connection, run_id: str) -> None:
    ids = add_steps(conn, run_id, {"a": "running", "b": "running"})
    add_log(conn, run_id, ids["a"], ["a1", "a2"])
    add_log(conn, run_id, ids["b"], ["b1"])
    add_log(conn, run_id, ids["a"], ["a3"], attempt=2)
    first = list_logs(conn, run_id, limit=3)
    rest = list_logs(conn, run_id, after_id=first.next, limit=3)
    assert [line["message"] for line in first.items + rest.items] == ["a1", "a2", "b1", "a3"]
    assert rest.next is None
    assert [line["message"] for line in list_logs(conn, run_id, "a", 2).items] == ["a3"]
    assert [line["message"] for line in last_logs(conn, run_id, "a", 2)] == ["a2", "a3"]
    assert [line["message"] for line in list_logs(conn, new_id()).items] == []


def test_events_are_told_in_order_with_the_names_of_their_steps(conn: Connection, run_id: str) -> None:
    ids = add_steps(conn, run_id, {"charge": "running"})
    add_event(conn, run_id, "run.started")
    add_event(conn, run_id, "step.retry", {"delay": 5}, ids["charge"])
    first = list_events(conn, run_id, limit=1)
    second = list_events(conn, run_id, first.next)
    assert [(e["kind"], e["step"], e["data"]) for e in first.items + second.items] == [
        ("run.started", None, None),
        ("step.retry", "charge", {"delay": 5}),
    ]


def test_secrets_of_the_input_are_masked_wherever_a_step_echoes_them(conn: Connection) -> None:
    schema = {"properties": {"card": {"writeOnly": True}}}
    run_id = add_run(conn, add_workflow(conn, input_schema=schema), "running", input={"card": "4111-22"})
    given = {"input": {"n": "4111-22"}, "output": ["4111-22"], "error": {"type": "E", "message": "4111-22?"}}
    ids = add_steps(conn, run_id, {"charge": "running"}, **given, progress={"at": "4111-22"})
    add_log(conn, run_id, ids["charge"], ["paying with 4111-22"])
    add_attempt(conn, ids["charge"], 1, "failed", error={"type": "E", "message": "4111-22?"})
    add_event(conn, run_id, "step.retry", {"error": {"message": "4111-22?"}}, ids["charge"])

    shown = [
        list_steps(conn, run_id).items,
        get_step(conn, run_id, "charge"),
        list_logs(conn, run_id).items,
        last_logs(conn, run_id, "charge", 5),
        list_attempts(conn, run_id, "charge"),
        list_events(conn, run_id).items,
        look(conn, run_id, load_secrets(conn, run_id)),
    ]

    assert [str(view).count("***") > 0 for view in shown] == [True] * len(shown)
    assert [str(view).count("4111") for view in shown] == [0] * len(shown)


def test_a_big_run_shows_the_steps_that_matter_now_in_graph_order(conn: Connection, run_id: str) -> None:
    states = {f"done{i}": "succeeded" for i in range(50)} | {f"bad{i}": "failed" for i in range(9)}
    states |= (
        {f"busy{i}": "running" for i in range(9)} | {f"next{i}": "queued" for i in range(9)} | {"later": "pending"}
    )
    add_steps(conn, run_id, dict(reversed(states.items())))

    seen = look(conn, run_id, load_secrets(conn, run_id), most=20)

    assert seen.total == len(states)
    assert len(seen.steps) <= 20
    found = [step.status for step in seen.steps]
    assert {status: found.count(status) for status in set(found)} == {"failed": 7, "running": 6, "queued": 3}
    positions = [step.position for step in seen.steps]
    assert positions == sorted(positions)


def test_a_small_run_shows_all_its_steps(conn: Connection, run_id: str) -> None:
    add_steps(conn, run_id, {"a": "succeeded", "b": "pending"})
    assert len(look(conn, run_id, load_secrets(conn, run_id), most=2).steps) == 2


def test_briefs_tell_no_input_and_no_output(conn: Connection, run_id: str) -> None:
    add_steps(conn, run_id, {"a": "failed"}, input={"big": 1}, output={"big": 2}, progress=0.5, attempt=3, lost_count=1)
    (brief,) = list_briefs(conn, run_id)
    assert (brief.attempt, brief.max_attempts) == (3, 4)  # three are allowed, and the lost one does not count
    assert (brief.error_type, brief.error_message, brief.progress) == ("ValueError", "no such card", 0.5)
    assert "big" not in str(brief)
