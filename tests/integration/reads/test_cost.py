"""Reading a page costs what the page holds, not what the tables hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, text

from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.ids import new_ids
from orchestrator.store.db import Database
from orchestrator.store.reads import (
    RunFilters,
    find_run,
    get_run,
    get_step,
    list_approvals,
    list_below,
    list_briefs,
    list_events,
    list_logs,
    list_runs,
    list_steps,
    list_workers,
)
from orchestrator.store.reads.brief import open_steps
from orchestrator.store.reads.causes import list_causes
from orchestrator.store.reads.latency import latency_over_time
from orchestrator.store.reads.metrics import read_gauges
from orchestrator.store.reads.now import numbers_now
from orchestrator.store.reads.queue_rows import list_queue_rows
from orchestrator.store.reads.runs import workflow_ids
from orchestrator.store.reads.stuck import list_late, list_long_waits, list_lost
from orchestrator.store.reads.workflow_rows import lately_of
from orchestrator.store.tables import workflow_runs
from tests.integration.reads.rows import NOW, add_log, add_run, add_steps, add_workflow
from tests.watching import vacuum

RUNS = 3_000
STEPS = 10
# Rows plans may touch for a page of 50 runs: their steps, counted in the index and in the table, and some more.
MOST_ROWS = 2 * 50 * STEPS + 200


@pytest.fixture(scope="module")
def filled(module_db: Database) -> Database:
    """3,000 ended runs of 10 steps, children of one, before, in between and after a few others, with statistics."""
    with module_db.engine.begin() as conn:
        revision = add_workflow(conn)
        other = add_workflow(conn, "rare")
        parent = add_run(conn, other, "running")
        _many_runs(conn, revision, parent)
        run_id = add_run(conn, other, "failed")
        ids = add_steps(conn, run_id, {"charge": "failed", "ship": "running"})
        add_log(conn, run_id, ids["charge"], ["line"] * 20)
    vacuum(module_db)
    return module_db


def _many_runs(conn: Connection, revision: str, parent: str) -> None:
    template = add_run(conn, revision)
    row = conn.execute(workflow_runs.select().where(workflow_runs.c.id == template)).one()._mapping
    ids = new_ids(RUNS)
    conn.execute(insert(workflow_runs), [{**row, "id": id, "root_id": id, "parent_run_id": parent} for id in ids])
    copied = text("""
        INSERT INTO workflow_run_steps
          (id, run_id, app_id, position, name, status, source_count, remaining_sources, finished_at)
        SELECT gen_random_uuid(), id, :app, n, 'step' || n, 'succeeded', 0, 0, :now
        FROM unnest(CAST(:ids AS uuid[])) AS r (id), generate_series(0, :steps - 1) AS n
    """)
    conn.execute(copied, {"ids": ids, "app": row["app_id"], "now": NOW, "steps": STEPS})


def rows_touched(db: Database, read: Callable[[Connection], Any]) -> int:
    """Rows that all scans of all statements of `read` looked at, those they passed over included."""
    statements: list[str] = []

    def keep(conn: Any, cursor: Any, *rest: Any) -> None:
        statements.append(cursor.query.decode())

    event.listen(db.engine, "after_cursor_execute", keep)
    try:
        with db.transaction() as conn:
            read(conn)
    finally:
        event.remove(db.engine, "after_cursor_execute", keep)
    with db.transaction() as conn:
        plans = [_plan(conn, statement) for statement in statements if statement.lstrip().startswith("SELECT")]
    return sum(_rows(plan) for plan in plans)


def _plan(conn: Connection, statement: str) -> dict[str, Any]:
    explained = conn.connection.cursor()
    explained.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + statement)
    plan: dict[str, Any] = explained.fetchone()[0][0]["Plan"]
    return plan


def _rows(node: dict[str, Any]) -> int:
    own = 0
    if "Scan" in node["Node Type"]:
        own = int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
    return own + sum(_rows(child) for child in node.get("Plans", ()))


READS: dict[str, Callable[[Connection, str], Any]] = {
    "newest runs": lambda conn, run: list_runs(conn, RunFilters()),
    "a page further on": lambda conn, run: list_runs(conn, RunFilters(), run),
    "open runs": lambda conn, run: list_runs(conn, RunFilters(statuses=[RunStatus.RUNNING])),
    "runs of one workflow": lambda conn, run: list_runs(conn, RunFilters(workflow="rare")),
    "runs of an app": lambda conn, run: list_runs(conn, RunFilters(app="default")),
    "one run": get_run,
    "its steps": list_steps,
    "its failed steps": lambda conn, run: list_steps(conn, run, StepStatus.FAILED),
    "one step": lambda conn, run: get_step(conn, run, "charge"),
    "its brief steps": list_briefs,
    "its log": list_logs,
    "a step's log": lambda conn, run: list_logs(conn, run, "charge"),
    "its events": list_events,
    "what is below it": lambda conn, run: list_below(conn, [run], 20),
    "a run by its beginning": lambda conn, run: find_run(conn, run[:30]),
    "the latest run": lambda conn, run: find_run(conn, "latest"),
    "workers": lambda conn, run: list_workers(conn),
    "failed runs by cause": lambda conn, run: list_causes(conn, NOW),
    "the numbers of now": lambda conn, run: numbers_now(conn),
    "queues": lambda conn, run: list_queue_rows(conn),
    "approvals that wait": lambda conn, run: list_approvals(conn),
    "runs past half of their time": lambda conn, run: list_late(conn),
    "steps whose lease is over": lambda conn, run: list_lost(conn),
    "steps that wait long": lambda conn, run: list_long_waits(conn),
    "how long runs took lately": lambda conn, run: latency_over_time(
        conn, NOW, datetime.now(UTC) + timedelta(hours=1), 1
    ),
    "the last runs of workflows": lambda conn, run: lately_of(conn, workflow_ids(conn, "rare")),
    "what is open of a run": open_steps,
    "gauges": lambda conn, run: read_gauges(conn),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_touches_no_more_rows_than_a_page_has(filled: Database, name: str) -> None:
    with filled.transaction() as conn:
        run_id = find_run(conn, "latest")
    assert rows_touched(filled, lambda conn: READS[name](conn, run_id)) <= MOST_ROWS


def test_a_look_below_a_run_with_thousands_of_children_reads_a_bounded_number_of_them(filled: Database) -> None:
    with filled.transaction() as conn:
        one = "SELECT parent_run_id FROM workflow_runs WHERE parent_run_id IS NOT NULL LIMIT 1"
        parent = str(conn.execute(text(one)).scalar_one())
    with filled.transaction() as conn:
        assert len(list_below(conn, [parent], 20)) == 20
    assert rows_touched(filled, lambda conn: list_below(conn, [parent], 20)) <= MOST_ROWS


def test_the_measure_sees_a_read_of_everything(filled: Database) -> None:
    everything = text("SELECT count(*) FROM workflow_run_steps WHERE name = 'step3'")
    assert rows_touched(filled, lambda conn: conn.execute(everything)) > MOST_ROWS
