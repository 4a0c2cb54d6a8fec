"""Lists of rare runs are read from an index: by the newest first, most pages would read the whole history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from orchestrator.domain.states import RunStatus
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters, list_runs
from tests.integration.reads.rows import add_run, add_workflow
from tests.watching import vacuum

RUNS = 20_000
# Of 2,000 runs one failed, one was canceled, two have an error (one went on after it), and two have the tag `vip`.
GENERATED = text("""
INSERT INTO workflow_runs (id, workflow_id, revision_id, app_id, status, final_status, input, vars, error, tags,
  root_id, step_count, created_at, started_at, finished_at)
SELECT made.id, r.workflow_id, r.revision_id, r.app_id, made.status, made.status, '{}', '{}', made.error, made.tags,
  made.id, 1, now(), now(), now()
FROM workflow_runs r, LATERAL (
  SELECT gen_random_uuid() AS id,
    CASE n % 2000 WHEN 7 THEN 'failed' WHEN 8 THEN 'canceled' ELSE 'succeeded' END AS status,
    CASE WHEN n % 1000 = 7 THEN json_build_object('type', 'E', 'message', 'card ' || n, 'step', 'a') END AS error,
    CASE WHEN n % 1000 = 9 THEN ARRAY['eu', 'vip'] WHEN n % 3 = 0 THEN ARRAY['eu'] ELSE '{}' END AS tags
  FROM generate_series(1, :runs) AS n
) AS made
WHERE r.id = :id
""")
FILTERS = {
    "failed": (RunFilters(statuses=[RunStatus.FAILED]), "workflow_runs_stopped_idx"),
    "canceled": (RunFilters(statuses=[RunStatus.CANCELED]), "workflow_runs_stopped_idx"),
    "failed or canceled": (RunFilters(statuses=[RunStatus.FAILED, RunStatus.CANCELED]), "workflow_runs_stopped_idx"),
    "open": (RunFilters(statuses=[RunStatus.RUNNING, RunStatus.PAUSED]), "workflow_runs_open_idx"),
    "with words in the error": (RunFilters(error="card 7"), "workflow_runs_error_idx"),
    "with a tag": (RunFilters(tags=["vip"]), "workflow_runs_tags_idx"),
    "with two tags": (RunFilters(tags=["eu", "vip"]), "workflow_runs_tags_idx"),
    "with a tag, of one app": (RunFilters(tags=["vip"], app="default"), "workflow_runs_tags_idx"),
    "failed, of one app": (RunFilters(statuses=[RunStatus.FAILED], app="default"), "workflow_runs_stopped_idx"),
    "any": (RunFilters(), "workflow_runs_pkey"),
    "succeeded": (RunFilters(statuses=[RunStatus.SUCCEEDED]), "workflow_runs_over_time_idx"),
}


@pytest.fixture(scope="module")
def generated(module_db: Database) -> Database:
    """A history of runs, with statistics."""
    with module_db.engine.begin() as conn:
        conn.execute(GENERATED, {"runs": RUNS, "id": add_run(conn, add_workflow(conn))})
    vacuum(module_db, "workflow_runs")
    return module_db


def indexes(conn: Connection, filters: RunFilters) -> set[str]:
    """The indexes from which the list finds its runs, where the newest of them do not hold enough."""
    statements: list[str] = []

    def keep(connection: Any, cursor: Any, *rest: Any) -> None:
        statements.append(cursor.query.decode())

    event.listen(conn, "after_cursor_execute", keep)
    list_runs(conn, filters)
    event.remove(conn, "after_cursor_execute", keep)
    finding = [statement for statement in statements if statement.startswith("SELECT r.id FROM ")][-1]
    (plan,) = conn.exec_driver_sql("EXPLAIN (FORMAT JSON) " + finding.replace("%", "%%")).scalar_one()
    return set(_indexes(plan["Plan"]))


def _indexes(node: dict[str, Any]) -> Iterator[str]:
    if node["Node Type"] == "Seq Scan":
        yield f"none: all of {node['Relation Name']}"
    if "Index Name" in node:
        yield node["Index Name"]
    for child in node.get("Plans", ()):
        yield from _indexes(child)


@pytest.mark.parametrize("name", FILTERS)
def test_a_list_finds_its_runs_in_an_index_made_for_it(generated: Database, name: str) -> None:
    filters, index = FILTERS[name]
    with generated.transaction() as conn:
        assert indexes(conn, filters) == {index}
