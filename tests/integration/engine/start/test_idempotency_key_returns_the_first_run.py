"""Starting twice with one key starts once."""

from __future__ import annotations

from functools import partial

from orchestrator import testing
from orchestrator.services.register import register
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from orchestrator.store.db import Database
from tests.documents import FUNCTIONS, document, step
from tests.hands import Hands, together

WORKFLOW = document(step("a"))


def test_the_same_key_gives_the_same_run_whatever_the_input() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        register(box.engine, WORKFLOW)
        first = start(box.engine, "w", {"n": 1}, StartOptions(idempotency_key="k"))
        again = start(box.engine, "w", {"n": 2}, StartOptions(idempotency_key="k"))
        assert first.created
        assert not again.created
        assert again.run_id == first.run_id


def test_the_first_run_is_returned_after_its_end_too() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        first = box.start(WORKFLOW, None, StartOptions(idempotency_key="k"))
        box.drive(first)
        assert box.start(WORKFLOW, None, StartOptions(idempotency_key="k")) == first
        assert box.result(first).steps["a"].attempts == 1


def test_another_key_no_key_and_another_workflow_start_other_runs() -> None:
    with testing.sandbox(FUNCTIONS) as box:
        runs = [
            box.start(WORKFLOW, None, StartOptions(idempotency_key="k")),
            box.start(WORKFLOW, None, StartOptions(idempotency_key="other")),
            box.start(WORKFLOW),
            box.start(WORKFLOW),
            box.start({**WORKFLOW, "name": "other"}, None, StartOptions(idempotency_key="k")),
        ]
        assert len(set(runs)) == len(runs)


def test_starts_with_one_key_at_the_same_moment_make_one_run(db: Database) -> None:
    hands = Hands(db)
    register(hands.engine, WORKFLOW)
    for round in range(10):
        options = StartOptions(idempotency_key=f"k{round}")
        started = together([partial(start, hands.engine, "w", None, options)] * 4)
        assert len({s.run_id for s in started}) == 1
        assert [s.created for s in started].count(True) == 1
    assert len(hands.outbox.take()) == 10
