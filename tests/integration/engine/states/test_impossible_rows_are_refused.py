"""The database refuses rows that cannot be, and names the rule they break."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text, update
from sqlalchemy.exc import IntegrityError

from orchestrator.clock import NOW
from orchestrator.services.engine import Settings
from orchestrator.store.db import Database
from orchestrator.store.tables import workflow_run_steps, workflow_runs
from orchestrator.store.tables.checks import RUN_CHECK, STEP_CHECK
from tests.documents import document, step
from tests.hands import Hands

NOW_SQL = text(NOW)
# What turns a ready step, or a running run, into one that breaks the rule.
BROKEN_STEPS: dict[str, dict[str, Any]] = {
    "status": {"status": "done"},
    "finished": {"finished_at": NOW_SQL},
    "claimed": {"claim_token": text("gen_random_uuid()")},
    "leased": {"lease_expires_at": NOW_SQL},
    "has_queue": {"status": "queued", "claim_token": text("gen_random_uuid()"), "queue": None},
    "reasoned": {"status": "skipped", "finished_at": NOW_SQL},
    "failed_says_why": {"status": "failed", "finished_at": NOW_SQL},
    "retry_is_ready": {"status": "pending", "next_attempt_at": NOW_SQL},
    "waits_for": {"status": "waiting"},
    "wakes_while_it_waits": {"wake_at": NOW_SQL},
    "tally": {"remaining_sources": 1},
    "held": {"held_at": NOW_SQL},
    "held_is_not_sent": {
        "status": "queued",
        "claim_token": text("gen_random_uuid()"),
        "held_at": NOW_SQL,
        "held_by": "ops",
    },
    "item": {"item_of": 0},
    "items": {"items_open": 2, "items_made": 1, "items_total": 1},
}
BROKEN_RUNS: dict[str, dict[str, Any]] = {
    "status": {"status": "done"},
    "final_status": {"final_status": "running"},
    "finished": {"finished_at": NOW_SQL},
    "ends_as_decided": {"status": "succeeded", "finished_at": NOW_SQL, "final_status": "canceled"},
    "halting": {"halting": "bored"},
    "paused": {"status": "paused"},
    "failed_says_why": {"status": "failed", "finished_at": NOW_SQL, "final_status": "failed"},
}
CASES = [(STEP_CHECK, workflow_run_steps, name, values) for name, values in BROKEN_STEPS.items()] + [
    (RUN_CHECK, workflow_runs, name, values) for name, values in BROKEN_RUNS.items()
]


@pytest.fixture(scope="module")
def rows(module_db: Database) -> Database:
    Hands(module_db, settings=Settings(window=0)).start(document(step("a")))
    return module_db


def test_there_is_a_case_for_each_rule() -> None:
    assert (list(BROKEN_STEPS), list(BROKEN_RUNS)) == (list(STEP_CHECK.rules), list(RUN_CHECK.rules))


@pytest.mark.parametrize(("check", "table", "rule", "values"), CASES, ids=[f"{c[1].name} {c[2]}" for c in CASES])
def test_a_row_that_cannot_be_is_refused_by_name(
    rows: Database, check: Any, table: Any, rule: str, values: dict[str, Any]
) -> None:
    with pytest.raises(IntegrityError) as refused, rows.transaction() as conn:
        conn.execute(update(table).values(values))
    diagnosis = refused.value.orig.diag  # type: ignore[union-attr]
    assert diagnosis.constraint_name == f"{check.table}_{rule}_check"
    assert (diagnosis.table_name, f'breaks the rule "{rule}"' in diagnosis.message_primary) == (check.table, True)
