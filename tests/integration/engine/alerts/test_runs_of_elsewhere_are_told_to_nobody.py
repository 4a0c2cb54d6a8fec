"""What happened elsewhere is not told or counted where its run is imported; what happens there later is."""

from __future__ import annotations

import pytest

from orchestrator.services.export import Exported, export
from orchestrator.services.import_runs import import_runs
from orchestrator.services.lines import text_of
from orchestrator.services.pause import resume
from orchestrator.services.register import register
from orchestrator.services.retry import retry
from orchestrator.services.start import start
from orchestrator.store.counts import count_events, read_counts
from orchestrator.store.db import Database
from tests.alerting import Alarms, said
from tests.documents import document, step
from tests.hands import Hands
from tests.watching import wait_for_horizon


def _broken() -> None:
    raise ValueError("no luck")


@pytest.fixture
def source(module_db: Database) -> Hands:
    hands = Hands(module_db, {"pay": _broken})
    register(hands.engine, document(step("charge", function="pay"), name="order"))
    return hands


def _counted(hands: Hands) -> dict[str, int]:
    with hands.db.transaction() as conn:
        count_events(conn)
    with hands.db.transaction() as conn:
        return {row.name: row.counted for row in read_counts(conn)}


def test_an_imported_run_is_told_and_counted_by_what_happens_to_it_here(source: Hands, db: Database) -> None:
    failed = start(source.engine, "order").run_id
    source.work()
    still_open = start(source.engine, "order").run_id
    told = [text_of(line) for line in export(source.db, [failed, still_open], Exported())]

    here = Hands(db, {"pay": _broken})
    register(here.engine, document(step("charge", function="pay"), name="order"))
    alarms = Alarms(here)
    alarms.rule(kinds=["run_failed", "run_late"], late_seconds=3600)
    alarms.pass_time(only="alert_rules", hours=3)
    assert (alarms.look(), _counted(here)) == ([], {})
    assert [came.trees for came in import_runs(db, told, name="f", actor="test")][-1:] == [2]
    alarms.pass_time(only="workflow_runs", hours=2)
    for _ in range(2):
        assert (alarms.look(), _counted(here)) == ([], {})

    retry(here.engine, failed)
    resume(here.engine, still_open)
    here.work()
    assert said(alarms.look()) == [("run_failed", "firing", 2)]
    wait_for_horizon(db)  # by now what the import brought would be counted, too
    assert _counted(here) == {"run.failed": 2, "step.failed": 2}
