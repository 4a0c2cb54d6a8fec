"""`show` and `watch`, drawn from fixed data."""

from __future__ import annotations

from datetime import timedelta

import pytest
from rich.text import Text

from orchestrator.cli.marks import MARKS, Signs
from orchestrator.cli.runpage import run_page
from orchestrator.cli.screen import Size, changed_line, fits, run_line, screen
from orchestrator.cli.steplines import attempts, progress, says, took
from orchestrator.cli.tree import tree
from orchestrator.domain.celery_task import STEPS
from orchestrator.domain.states import RunStatus, StepStatus
from tests.unit.cli.looks import NOW, RUN_ID, around, brief, look_at, page_of, plain, plan_from, plan_of

PLAN = plan_of(check="", charge="check", ship="charge", mail="ship")
FAILED = [
    brief(PLAN, "check", "succeeded"),
    brief(PLAN, "charge", "failed", attempt=3, max_attempts=3),
    brief(PLAN, "ship", "upstream_failed"),
    brief(PLAN, "mail", "upstream_failed"),
]
ERROR = {"type": "ValueError", "message": "no such card", "step": "charge"}


def test_every_state_has_its_own_sign_and_a_word() -> None:
    assert {*RunStatus, *StepStatus} <= set(MARKS)
    ended = [MARKS[s] for s in ("succeeded", "failed", "canceled", "skipped", "upstream_failed", "running", "pending")]
    assert len({mark.sign for mark in ended}) == len({mark.ascii for mark in ended}) == len(ended)
    assert Signs().status("upstream_failed").plain == "! upstream failed"


def test_the_page_of_a_failed_run_says_what_failed_what_followed_and_what_to_do() -> None:
    look = look_at(FAILED, "failed", error=ERROR)
    lines = plain(run_page(page_of(PLAN, look, tags=["eu"], input={"amount": 5}), Signs(), 120))
    assert lines[0] == "✗ order failed after 12 s"
    assert lines[1] == "  why      step 'charge': ValueError: no such card"
    assert lines[2] == f"  run      {RUN_ID}, revision 3, app default"
    assert "  tags     eu" in lines
    assert '  input    {"amount": 5}' in lines
    assert lines[6].endswith("100%  4 steps: 1 failed, 1 succeeded, 2 upstream failed")
    assert "  charge  ✗ failed           3 of 3   2.0 s  host:7  ValueError: no such card" in lines
    assert any(line.startswith("  mail") and line.endswith("needs 'charge', which failed") for line in lines)
    assert lines[-4].startswith(f"  orchestrator logs {RUN_ID} charge ")
    assert lines[-3].startswith(f"  orchestrator show {RUN_ID} --step charge ")
    assert lines[-2].startswith(f"  orchestrator retry {RUN_ID} ")
    assert lines[-1].startswith(f"  orchestrator rerun {RUN_ID} ")


def test_the_command_that_decides_an_approval_has_the_fields_that_are_required() -> None:
    fields = {"note": {"type": "string"}, "how soon": {}, "urgent": {"type": "boolean", "default": False}}
    asked = {"for": "approval", "event": "x", "title": "Ship?", "fields": fields, "until": None}
    lines = plain(run_page(page_of(PLAN, look_at([brief(PLAN, "check", "waiting", wait=asked)])), Signs(), None))
    told = f"  orchestrator approve {RUN_ID} check --field note=... --field 'how soon=...'  # or reject"
    assert any(line.startswith(told) for line in lines)


def test_names_and_messages_are_taken_literally() -> None:
    name = "[bold]a.b-c#1/%:d[/] 名前 :smile:"
    plan = plan_from({name: []})
    steps = [brief(plan, name, "failed", error_message="[red]\x1b[31mno[/]")]
    lines = plain(run_page(page_of(plan, look_at(steps, "failed", error=ERROR)), Signs(), None))
    assert any(name in line and "[red]\\x1b[31mno[/]" in line for line in lines)
    assert any(f"'{name}'" in line and "logs" in line for line in lines)


def test_a_big_run_says_how_many_steps_are_not_shown() -> None:
    look = look_at(FAILED[:2], "failed", error=ERROR, counts={"succeeded": 4000, "failed": 1})
    lines = plain(run_page(page_of(PLAN, look), Signs(), 100))
    assert any(f"3,999 steps more: orchestrator show {RUN_ID} --all" in line for line in lines)


def test_an_open_run_whose_queue_nobody_serves_says_so() -> None:
    steps = [brief(PLAN, "check", "queued", queue="gpu tasks")]
    lines = plain(run_page(page_of(PLAN, look_at(steps)), Signs(), 100))
    assert "! no worker is alive that serves queue 'gpu tasks': orchestrator worker --queues 'gpu tasks'" in lines
    assert not any("coordinator" in line for line in lines)


def test_a_step_that_calls_a_celery_task_is_for_any_worker_and_says_what_it_waits_for() -> None:
    told = {"for": "celery", "task": "proj.add", "queue": "media", "until": (NOW + timedelta(hours=1)).isoformat()}
    steps = [brief(PLAN, "check", "waiting", wait=told), brief(PLAN, "charge", "queued", queue=STEPS)]
    beat = {"kind": "beat", "status": "alive", "queues": []}
    worker = {"kind": "worker", "status": "alive", "queues": ["io"], "concurrency": 2, "running": 0}
    lines = plain(run_page(page_of(PLAN, look_at(steps), workers=[worker, beat]), Signs(), None))
    assert any("waits for Celery task proj.add on queue media (" in line for line in lines)
    assert not any("alive" in line for line in lines)
    alone = plain(run_page(page_of(PLAN, look_at(steps), workers=[beat]), Signs(), None))
    assert "! no worker is alive: orchestrator worker" in alone


def test_a_worker_of_all_queues_serves_one_that_it_has_not_met_yet() -> None:
    worker = {"kind": "worker", "status": "alive", "queues": ["*", "default"], "concurrency": 2, "running": 0}
    workers = [worker, {"kind": "beat", "status": "alive", "queues": []}]
    look = look_at([brief(PLAN, "check", "queued", queue="gpu")])
    lines = plain(run_page(page_of(PLAN, look, workers=workers), Signs(), 100))
    assert not any(line.startswith("!") for line in lines)


def test_an_open_run_without_a_coordinator_says_so_and_an_ended_one_does_not() -> None:
    running, ended = [brief(PLAN, "check", "running")], [brief(PLAN, "check", "succeeded")]
    told = [
        any(
            "no coordinator is alive" in line for line in plain(run_page(page_of(PLAN, look, workers=[]), Signs(), 100))
        )
        for look in (look_at(running), look_at(ended, "succeeded"))
    ]
    assert told == [True, False]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_no_line_of_the_live_picture_is_wider_than_the_terminal(width: int) -> None:
    size = Size(width, 24)
    look = look_at(FAILED, "running", error=None)
    for drawn in (tree(PLAN), None):
        lines = screen(look, around(PLAN, look), drawn, Signs(), size, note="x" * 200)
        assert max(line.cell_len for line in lines) <= width


def test_the_live_picture_shows_the_graph_with_states_attempts_times_and_progress() -> None:
    steps = [
        brief(PLAN, "check", "succeeded"),
        brief(PLAN, "charge", "running", attempt=2, max_attempts=3, progress={"done": 3, "total": 10}),
        brief(PLAN, "ship"),
        brief(PLAN, "mail"),
    ]
    look = look_at(steps)
    lines = plain(screen(look, around(PLAN, look), tree(PLAN), Signs(), Size(100, 24)))
    assert lines == [
        f"▸ order running for 12 s  {RUN_ID}",
        "███████░░░░░░░░░░░░░░░░░░░░░░░ 25%  4 steps: 1 running, 2 pending, 1 succeeded",
        "",
        "✓ check   succeeded                  2.0 s",
        "▸ charge  running    attempt 2 of 3  5.0 s  ███░░░░░░░ 30% 3 of 10",
        "· ship    pending",
        "· mail    pending",
    ]


def test_a_lifecycle_handler_is_drawn_below_the_graph() -> None:
    look = look_at([*FAILED, brief(PLAN, "on_failure", "running")])
    assert plain(screen(look, around(PLAN, look), tree(PLAN), Signs(), Size(100, 24)))[-1].startswith("▸ on_failure")


def test_a_graph_larger_than_the_screen_is_shown_by_what_matters_now() -> None:
    assert fits(18, Size(80, 24))
    assert not fits(19, Size(80, 24))
    look = look_at([FAILED[1], brief(PLAN, "ship", "running")], counts={"failed": 7, "running": 1, "succeeded": 99})
    lines = plain(screen(look, around(PLAN, look), None, Signs(), Size(100, 24)))
    assert lines[3:] == [
        "failed (1 of 7)",
        "✗ charge  failed   attempt 3 of 3  2.0 s  ValueError: no such card",
        "running",
        "▸ ship    running                  5.0 s",
    ]


def test_a_terminal_without_unicode_gets_ascii() -> None:
    look = look_at([*FAILED[:2], brief(PLAN, "ship", "running", progress=0.5)])
    lines = plain(screen(look, around(PLAN, look), tree(PLAN), Signs(unicode=False), Size(100, 24)))
    assert "\n".join(lines).isascii()


def said(name: str, status: str, run: str = "running", **given: object) -> str:
    steps = [brief(PLAN, name, status, **given)]
    return says(steps[0], around(PLAN, look_at(steps, run)), Signs()).plain


def test_a_step_that_waits_for_its_next_attempt_says_when_and_why() -> None:
    due = NOW + timedelta(seconds=12)
    told = said("charge", "ready", next_attempt_at=due, error_type="Timeout", error_message="too\nslow")
    assert told == "next attempt in 12 s; the last one: Timeout: too ..."
    assert said("charge", "ready", next_attempt_at=NOW - timedelta(seconds=1)) == "next attempt now"


@pytest.mark.parametrize(
    ("status", "given", "told"),
    [
        ("pending", {}, "waits for check"),
        ("ready", {}, "waits for room in queue 'default'"),
        ("queued", {}, "waits in queue 'default'"),
        ("running", {"cancel_requested": True}, "asked to stop"),
        ("running", {"progress": 0.25, "cancel_requested": True}, "██░░░░░░░░ 25% asked to stop"),
        ("skipped", {}, "its condition was false"),
        (
            "skipped",
            {"reason": "function", "error_type": "Skip", "error_message": "paid"},
            "its function asked to skip it: paid",
        ),
        ("canceled", {"reason": "deadline"}, "the run reached its deadline"),
        ("failed", {"reason": "poison"}, "its workers died again and again (ValueError: no such card)"),
        ("succeeded", {}, ""),
    ],
)
def test_each_state_says_why(status: str, given: dict[str, object], told: str) -> None:
    assert said("charge", status, **given) == told


def test_a_ready_step_of_a_paused_run_says_that_the_run_is_paused() -> None:
    assert said("charge", "ready", run="paused") == "ready; the run is paused"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        ({"done": 1, "total": 4}, "██░░░░░░░░ 25% 1 of 4"),
        ({"done": 9, "total": 4}, "██████████ 100% 9 of 4"),
        ({"done": -1, "total": 4}, "░░░░░░░░░░ 0% -1 of 4"),
        ({"done": 1, "total": 0}, '{"done": 1, "total": 0}'),
        (0.999, "█████████░ 99%"),
        (1.0, "██████████ 100%"),
        ("[b]half\x1b", "[b]half\\x1b"),
        ([1], "[1]"),
    ],
)
def test_progress_is_a_bar_where_it_says_how_much(value: object, shown: str) -> None:
    assert progress(value, Signs()).plain == shown


def test_attempts_are_told_only_where_there_is_more_than_one() -> None:
    assert attempts(brief(PLAN, "charge")) == ""
    assert attempts(brief(PLAN, "charge", "succeeded")) == ""
    assert attempts(brief(PLAN, "charge", "running", max_attempts=3)) == "1 of 3"
    assert attempts(brief(PLAN, "charge", "running", attempt=2, max_attempts=None)) == "2"


def test_a_step_that_waits_shows_no_time_of_an_earlier_attempt() -> None:
    assert took(brief(PLAN, "charge", "ready", started_at=NOW - timedelta(seconds=9)), NOW) == ""


def test_changes_are_told_on_lines_of_their_own() -> None:
    look = look_at(FAILED, "failed", error=ERROR)
    line: Text = changed_line(FAILED[1], around(PLAN, look), Signs())
    assert line.plain.endswith("✗ charge failed, attempt 3 of 3, 2.0 s: ValueError: no such card")
    told = run_line(look, NOW, Signs()).plain
    assert told.endswith("✗ order failed after 12 s: step 'charge': ValueError: no such card")


def test_a_paused_run_says_since_when_and_why() -> None:
    look = look_at(FAILED, "paused", paused_at=NOW - timedelta(minutes=3), pause_reason="waiting for Ann")
    lines = plain(run_page(page_of(PLAN, look), Signs(), 100))
    assert lines[:2] == ["‖ order paused", "  why      paused 3 min ago: waiting for Ann"]
    assert f"  orchestrator resume {RUN_ID}" in "\n".join(lines)
