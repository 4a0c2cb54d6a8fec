"""Waits, pools, limits, compensations and kept results under workers, operators and coordinators at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.domain.states import StepStatus
from orchestrator.errors import Conflict, InvalidInput, NotFound
from orchestrator.services.cancel import cancel
from orchestrator.services.claim import claim
from orchestrator.services.coordinate import tick
from orchestrator.services.decide import decide
from orchestrator.services.engine import Settings
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pause import pause, resume
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.services.signal import signal
from orchestrator.services.start import start, start_many
from orchestrator.store.db import Database
from orchestrator.store.runs import load_run
from tests.documents import document, on, step
from tests.families import unwatched
from tests.hands import LEASE, Hands, together
from tests.integration.engine.races.test_overlapping_work_never_deadlocks import DEADLINE, chance, deadlocks
from tests.support import soaked, wait_for
from tests.watching import check_tallies

pytestmark = pytest.mark.timeout(300)  # on a slow machine
NAMES = ("root", "pooled", "event", "ask", "nap", "kept", "join", "last")
KEYS = [{"key": key} for key in "abc"]
TURNS = soaked(10, 20)


def graph(**keys: Any) -> dict[str, Any]:
    """Each kind of step that waits, is limited or is undone, some before and some behind others."""
    undo = {"function": "chance"}
    return document(
        step("root", function="chance", compensate=undo),
        step("pooled", "root", function="chance", pool="pool", compensate=undo, retry={"max_attempts": 2}),
        {"name": "event", "wait_for": {"event": "go"}, "pool": "pool", "compensate": {"pass": True}},
        {"name": "ask", "depends_on": "root", "wait_for": {"approval": {"title": "well?"}}, "on_error": "continue"},
        {"name": "nap", "depends_on": "root", "sleep": 0.05, "timeout": 60, "compensate": undo},
        step("kept", "root", function="chance", cache={"ttl": 60}),
        step("join", function="chance", depends_on=[on(name, "complete") for name in NAMES[1:6]], compensate=undo),
        step("last", "join", function="chance", pool="pool", slots=2),
        max_active_runs=2,
        concurrency_key="{{ input.key }}",
        on_failure={"function": "chance"},
        on_finish={"sleep": 0.01},
        **keys,
    )


def fans(**keys: Any) -> dict[str, Any]:
    """Items of each kind: they wait, ask, sleep, take slots, and run workflows that take turns."""
    few = {"items": [1, 2, 3], "concurrency": 2, "max_failures": 1, "fail_fast": True}
    return document(
        step("root", function="chance"),
        step("pooled", "root", function="chance", pool="pool", with_items=few, retry={"max_attempts": 2}),
        {"name": "event", "with_items": few, "wait_for": {"event": "go"}, "pool": "pool", "compensate": {"pass": True}},
        {"name": "ask", "depends_on": "root", "with_items": [1, 2], "wait_for": {"approval": {"title": "well?"}}},
        {"name": "nap", "depends_on": "root", "with_items": few, "sleep": 0.05},
        {"name": "kept", "with_items": few, "workflow": "low", "retry": {"max_attempts": 2}, "timeout": 60},
        step("join", function="chance", depends_on=[on(name, "complete") for name in NAMES[1:6]]),
        step("last", "join", function="chance", pool="pool", slots=2),
        on_finish={"sleep": 0.01},
        **keys,
    )


LOW = document(step("root", function="chance", pool="pool"), step("last", "root"), name="low", max_active_runs=2)


def worker(hands: Hands, is_over: Callable[[], bool]) -> None:
    while not is_over():
        messages = hands.outbox.take()
        for first in range(0, len(messages), 3):
            hands.settle_all([hands.perform(one) for one in claim(hands.engine, messages[first : first + 3], LEASE)])
        if not messages:
            wait_for(lambda: hands.outbox.messages or is_over(), DEADLINE, what="work, or the end of the hunt")


def all_runs(db: Database, which: str = "true") -> list[str]:
    with db.transaction() as conn:
        return list(conn.execute(text(f"SELECT id FROM workflow_runs WHERE {which} ORDER BY id")).scalars())


def operator(hands: Hands, turns: int) -> None:
    engine = hands.engine
    for _ in range(turns):
        run_id, name = random.choice(all_runs(hands.db)), random.choice(NAMES)
        acts: Sequence[Callable[[], Any]] = (
            partial(signal, engine, run_id, "go", 1),
            partial(decide, engine, run_id, "ask", random.random() < 0.5, item=random.choice([None, 0, 1])),
            partial(pause, engine, run_id),
            partial(hold, engine, run_id, name),
            partial(resume, engine, run_id),
            partial(mark, engine, run_id, name, StepStatus.SUCCEEDED, output=1, force=True),
            partial(mark, engine, run_id, name, StepStatus.SKIPPED),
            partial(release, engine, run_id, name),
            partial(cancel, engine, run_id, force=random.random() < 0.3),
            partial(retry, engine, run_id),
            partial(rerun, engine, run_id, from_steps=name),
            partial(start, engine, "w", random.choice(KEYS)),
            partial(start_many, engine, "w", random.sample(KEYS, 2)),
            partial(set_pool, engine, "pool", random.randint(2, 4), actor="test"),
        )
        for act in random.sample(acts, 4):
            with suppress(Conflict, NotFound, InvalidInput):
                act()


def finish(hands: Hands, items: Sequence[int | None]) -> None:
    """Give every run what it waits for, until none is open."""
    for _ in range(200):
        runs = all_runs(hands.db, "status IN ('pending', 'running', 'paused', 'canceling')")
        if not runs:
            return
        for run_id in runs:
            acts: list[Callable[[], Any]] = [partial(release, hands.engine, run_id, name) for name in NAMES]
            acts += [partial(resume, hands.engine, run_id), partial(signal, hands.engine, run_id, "go", 1)]
            acts += [partial(decide, hands.engine, run_id, "ask", True, item=item) for item in items]
            for act in acts:
                with suppress(Conflict, NotFound, InvalidInput):
                    act()
        tick(hands.engine)
        hands.work()


def check_all_tallies(hands: Hands) -> None:
    for run_id in all_runs(hands.db):
        with hands.db.transaction() as conn:
            check_tallies(conn, hands.engine.plans.get(conn, load_run(conn, run_id).revision_id), run_id)


def check_each_fan(db: Database, run_id: str) -> None:
    """The counts on the rows of steps with items are those of their items, all of which have ended."""
    counted = text("""
SELECT s.name, s.items_made, s.items_open, s.items_failed, count(i.id) AS made,
  count(*) FILTER (WHERE i.finished_at IS NULL AND i.id IS NOT NULL) AS open,
  count(*) FILTER (WHERE i.status = 'failed') AS failed
FROM workflow_run_steps s LEFT JOIN workflow_run_steps i ON i.run_id = s.run_id AND i.item_of = s.position
WHERE s.run_id = :id AND s.items_total IS NOT NULL GROUP BY s.id""")
    with db.transaction() as conn:
        for row in conn.execute(counted, {"id": run_id}):
            assert (row.items_made, row.items_open, row.items_failed) == (row.made, 0, row.failed), row
            assert row.open == 0


@pytest.mark.parametrize("graph", [graph, fans], ids=["steps", "items"])
def test_every_kind_of_step_under_every_verb(db: Database, graph: Callable[..., dict[str, Any]]) -> None:
    hands = Hands(db, {"chance": chance}, Settings(window=1000, resend=0.05, max_lost=1000))
    set_pool(hands.engine, "pool", 3, actor="test")
    register(hands.engine, LOW, actor="test")
    for mode in ("drain", "cancel", "run_on"):
        hands.start(graph(failure_mode=mode), KEYS[0])
    start_many(hands.engine, "w", KEYS if graph is fans else KEYS * 3)
    left = [None] * 3

    def act() -> None:
        try:
            operator(hands, soaked(4, 10) if graph is fans else TURNS)
        finally:
            left.pop()

    def beat() -> None:
        while left:
            tick(hands.engine)

    works = [partial(worker, hands, lambda: not left)] * 2
    together([*works, act, act, act, beat], deadline=DEADLINE)
    assert deadlocks(db) == 0
    finish(hands, (0, 1) if graph is fans else (None,))
    assert all_runs(db, "status IN ('pending', 'running', 'paused', 'canceling')") == []
    check_all_tallies(hands)
    assert unwatched(hands) == []
    for run_id in all_runs(db) if graph is fans else ():
        check_each_fan(db, run_id)
