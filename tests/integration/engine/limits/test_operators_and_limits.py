"""What operators do to runs that take turns, to steps of pools, and to what was undone."""

from __future__ import annotations

from collections import Counter

import pytest

from orchestrator import testing
from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict
from orchestrator.services.coordinate import tick
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pools import set_pool
from orchestrator.services.rerun import rerun
from orchestrator.services.start import start
from orchestrator.store.reads import get_run
from tests.documents import FUNCTIONS, document, step
from tests.scripted import FUNCTION, Script

CHAIN = [step("a", input={"n": 1}), step("b", "a", input={"got": "{{ steps.a.output.n }}"}), step("c", "b")]


@pytest.mark.parametrize("names", [(), ("b",)], ids=["plain", "from a step"])
def test_a_rerun_waits_for_its_turn_and_then_runs(names: tuple[str, ...]) -> None:
    with testing.sandbox(FUNCTIONS) as box:
        first = box.start(document(*CHAIN, max_active_runs=1))
        box.drive(first)
        other = start(box.engine, "w").run_id
        made = rerun(box.engine, first, from_steps=names)
        assert get_run(box.connection, made.run_id)["status"] == "pending"
        box.drive(other)
        box.drive(made.run_id)
        result = box.result(made.run_id)
    assert (result.status, result.steps["b"].output) == ("succeeded", {"got": 1})


def test_a_mark_does_not_let_a_run_go_on_beyond_the_limit() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        failed = box.start(document(step("a", function="fail"), step("b", "a"), max_active_runs=1))
        box.drive(failed)
        start(box.engine, "w")
        with pytest.raises(Conflict, match="max_active_runs"):
            mark(box.engine, failed, "a", StepStatus.SUCCEEDED)
        assert box.result(failed).status == "failed"


def test_a_held_step_of_a_pool_takes_no_slot_until_it_is_released() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        set_pool(box.engine, "gpu", 1, actor="test")
        one = box.start(document(step("a", pool="gpu")))
        hold(box.engine, one, "a")
        other = box.start(document(step("a", pool="gpu"), name="other"))
        tick(box.engine)
        box.drive(other)
        assert box.result(other).status == "succeeded"
        assert box.result(one).steps["a"].status == "ready"
        release(box.engine, one, "a")
        box.drive(one)
        assert box.result(one).status == "succeeded"


def test_what_was_undone_is_not_kept() -> None:
    script = Script({"bad": ["failed"]})
    undone = step("a", function=FUNCTION, compensate={"function": FUNCTION})
    graph = [undone, step("plain", function=FUNCTION), step("bad", "a", "plain", function=FUNCTION)]
    with testing.sandbox(script.functions) as box:
        run_id = box.start(document(*graph))
        box.drive(run_id)
        made = rerun(box.engine, run_id, from_steps="bad")
        box.drive(made.run_id)
        assert (made.kept, box.result(made.run_id).status) == (1, "succeeded")
        ran = Counter(script.ran)
        assert (ran["a"], ran["plain"], ran["bad"]) == (2, 1, 2)
        mark(box.engine, run_id, "bad", StepStatus.SUCCEEDED)
        box.drive(run_id)
        assert box.result(run_id).status == "succeeded"
        assert Counter(script.ran)["a"] == 3
