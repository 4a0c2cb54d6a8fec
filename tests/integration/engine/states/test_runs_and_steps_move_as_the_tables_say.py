"""What every act does to statuses, written down by the database and compared with domain/states.py.

tests/conformance compares random runs; here every move of the tables is made, or is named as one that nothing in this
release makes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from orchestrator import Skip, testing
from orchestrator.domain.states import (
    RUN_REOPENS,
    RUN_TRANSITIONS,
    STEP_MARKS,
    STEP_REOPENS,
    STEP_TRANSITIONS,
    StepStatus,
)
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import Claimed, claim, release
from orchestrator.services.coordinate import tick
from orchestrator.services.dispatch import dispatch
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.retry import retry
from orchestrator.services.settle import settle
from orchestrator.services.settle_all import Done, settle_all
from orchestrator.store.batch import Take
from orchestrator.store.transition import Lease
from orchestrator.testing import Sandbox
from tests.documents import FUNCTIONS, document, on, step
from tests.hands import SUCCESS
from tests.watching import moves_since, note_moves

Move = tuple[str, str]
LATER = {"max_attempts": 2, "delay": 100}
WORKER = Lease("worker", 15)

# Every run begins as `running`, and no step waits for a child, an event or a sleep.
RUN_NOT_YET = {("pending", to) for to in ("running", "canceling", "canceled", "failed")}
STEP_NOT_YET = {("running", "waiting")} | {
    ("waiting", to) for to in ("ready", "running", "succeeded", "failed", "canceled", "skipped")
}


def skip() -> None:
    raise Skip("nothing to do")


def begin(box: Sandbox) -> Claimed:
    """A worker claims the step that waits longest."""
    (claimed,) = claim(box.engine, [box._waiting.popleft()], WORKER)
    return claimed


def after(box: Sandbox, seconds: float) -> None:
    box.clock.skip(timedelta(seconds=seconds))
    tick(box.engine)


def ends_of_all_kinds(box: Sandbox) -> None:
    made = document(
        step("ok"),
        step("next", "ok"),
        step("pass", "ok", **{"pass": True}),
        step("condition", "ok", when="false"),
        step("skip", function="skip"),
        step("fail", function="fail"),
        step("behind", "fail"),
        step("short", depends_on=[on("ok", "success"), on("fail", "success")], on_unreachable="fail"),
    )
    box.drive(box.start(made))


def a_run_that_ends_well(box: Sandbox) -> None:
    box.drive(box.start(document(step("a"), step("b", "a"), on_success={"function": "ok"})))


def a_worker_falls_silent(box: Sandbox) -> None:
    run_id = box.start(document(step("a")))
    begin(box)
    after(box, 16)
    box.drive(run_id)


def a_worker_goes_on_with_what_it_made_ready(box: Sandbox) -> None:
    box.start(document(step("a"), step("b", "a")))
    settled = settle(box.engine, begin(box), SUCCESS, take_next=WORKER)
    assert settled.next is not None
    settle(box.engine, settled.next, SUCCESS)


def a_worker_takes_what_it_made_ready_with_the_result(box: Sandbox) -> None:
    box.start(document(step("a"), step("b", "a")))
    settled = settle_all(box.engine, [Done(begin(box), SUCCESS)], Take(WORKER, "default", 1))
    settle_all(box.engine, [Done(one, SUCCESS) for one in settled.next])


def a_worker_gives_back_what_it_has_not_begun(box: Sandbox) -> None:
    run_id = box.start(document(step("a")))
    claimed = begin(box)
    dispatch(box.engine, release(box.engine, [(claimed.step_id, claimed.token)]))
    box.drive(run_id)


def total_timeouts_of_steps_that_wait(box: Sandbox) -> None:
    for act in (pause, lambda engine, run_id: None):  # a paused run's steps are not sent
        run_id = box.start(document(step("a", function="fail", total_timeout=150, retry=LATER)))
        box.step()
        act(box.engine, run_id)
        after(box, 101)
        after(box, 60)
        box._waiting.clear()


def pause_and_resume(box: Sandbox) -> None:
    run_id = box.start(document(step("a")))
    pause(box.engine, run_id)
    resume(box.engine, run_id)
    box.drive(run_id)


def cancel_gracefully_and_retry(box: Sandbox) -> None:
    steps = [step("runs"), step("ready", function="fail", retry=LATER), step("queued"), step("pending", "runs")]
    run_id = box.start(document(*steps))
    running = begin(box)
    box.step()
    cancel(box.engine, run_id)
    settle(box.engine, running, SUCCESS)
    retry(box.engine, run_id)
    box.drive(run_id)


def cancel_by_force(box: Sandbox) -> None:
    run_id = box.start(document(step("a")))
    begin(box)
    cancel(box.engine, run_id, force=True)


def cancel_by_force_what_is_over_but_for_its_handler(box: Sandbox) -> None:
    run_id = box.start(document(step("a", **{"pass": True}), on_finish={"function": "ok"}))
    begin(box)
    cancel(box.engine, run_id, force=True)


def cancel_a_paused_run(box: Sandbox) -> None:
    run_id = box.start(document(step("a")))
    pause(box.engine, run_id)
    cancel(box.engine, run_id)


def deadlines(box: Sandbox) -> None:
    for act in (pause, cancel, lambda engine, run_id: None):
        run_id = box.start(document(step("a"), timeout=10))
        running = begin(box)
        act(box.engine, run_id)
        after(box, 11)
        assert settle(box.engine, running, SUCCESS).stale


def an_operator_retries(box: Sandbox) -> None:
    skipped = step("skip", depends_on=[on("fail", "skipped")])
    steps = [step("fail", function="fail", retry=LATER), step("behind", "fail"), skipped]
    handlers = {"on_failure": {"function": "ok"}, "on_finish": {"function": "skip"}}
    run_id = box.start(document(*steps, **handlers))
    box.drive(run_id)
    retry(box.engine, run_id)
    box.drive(run_id)


def an_operator_marks(box: Sandbox) -> None:
    """Every step in every state it can be marked in, both ways."""
    for status in (StepStatus.SUCCEEDED, StepStatus.SKIPPED):
        steps = [step("runs"), step("ready", function="fail", retry=LATER), step("queued"), step("pending", "runs")]
        steps += [step("skip", function="skip"), step("fail", function="fail"), step("behind", "fail")]
        box._waiting.clear()
        run_id = box.start(document(*steps))
        begin(box)
        box.step()
        queued = box._waiting.popleft()
        while box.step():
            pass
        box._waiting.append(queued)
        for name in ("ready", "queued", "pending", "behind"):
            mark(box.engine, run_id, name, status)
        mark(box.engine, run_id, "runs", status, force=True)
        if status is StepStatus.SUCCEEDED:
            mark(box.engine, run_id, "skip", status)
        canceled = box.start(document(step("a"), step("b")))
        cancel(box.engine, canceled)
        mark(box.engine, canceled, "a", status)
        mark(box.engine, run_id, "fail", status)


def stopping(mode: str) -> Callable[[Sandbox], None]:
    def stop(box: Sandbox) -> None:
        steps = [step("runs"), step("fails", function="fail"), step("waits", "runs")]
        box.start(document(*steps, failure_mode=mode))
        running = begin(box)
        box.step()
        settle(box.engine, running, SUCCESS)

    return stop


SCENARIOS: list[Callable[[Sandbox], Any]] = [
    ends_of_all_kinds,
    a_run_that_ends_well,
    a_worker_falls_silent,
    a_worker_goes_on_with_what_it_made_ready,
    a_worker_takes_what_it_made_ready_with_the_result,
    a_worker_gives_back_what_it_has_not_begun,
    total_timeouts_of_steps_that_wait,
    pause_and_resume,
    cancel_gracefully_and_retry,
    cancel_by_force,
    cancel_by_force_what_is_over_but_for_its_handler,
    cancel_a_paused_run,
    deadlines,
    an_operator_retries,
    an_operator_marks,
    *map(stopping, ("drain", "cancel")),
]


def made(scenario: Callable[[Sandbox], Any]) -> set[tuple[str, str, str]]:
    with testing.sandbox(FUNCTIONS | {"skip": skip}) as box:
        note_moves(box.connection)
        scenario(box)
        return set(moves_since(box.connection))


def moves(*tables: Mapping[Any, Any]) -> set[Move]:
    """The moves that the tables allow."""
    return {(str(was), str(became)) for table in tables for was, all_next in table.items() for became in all_next}


def test_every_move_is_in_the_tables_and_every_move_in_the_tables_is_made() -> None:
    seen = set().union(*map(made, SCENARIOS))
    runs = {(was, became) for kind, was, became in seen if kind == "run"}
    steps = {(was, became) for kind, was, became in seen if kind != "run"}
    assert runs | RUN_NOT_YET == moves(RUN_TRANSITIONS, RUN_REOPENS)
    assert steps | STEP_NOT_YET == moves(STEP_TRANSITIONS, STEP_REOPENS, STEP_MARKS)
    assert not runs & RUN_NOT_YET
    assert not steps & STEP_NOT_YET


def test_without_an_operators_retry_or_mark_no_terminal_state_is_left() -> None:
    operators = (an_operator_retries, an_operator_marks, cancel_gracefully_and_retry)
    ones = [scenario for scenario in SCENARIOS if scenario not in operators]
    for kind, was, became in set().union(*map(made, ones)):
        assert (was, became) in moves(RUN_TRANSITIONS if kind == "run" else STEP_TRANSITIONS)
