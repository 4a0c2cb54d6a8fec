"""Counters that only rise, counted from the history of runs whenever somebody looks at them.

Nothing is added to the hot path: events of runs are there anyway. Each is counted exactly once, also those of
transactions that end later than others which began after them (store/horizon.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, text

from orchestrator.domain.archive import IMPORTED
from orchestrator.store.horizon import OF_PORTION, next_portion

# By the kind of event: what the counter is called in `metric_counts`.
KINDS = ("run.started", "run.succeeded", "run.failed", "run.canceled", "step.failed", "step.retry", "step.lost")
MOST_EVENTS = 1_000_000  # that a look goes through; what came before that while nobody looked is not counted
# A run that is imported brings its events along, in one transaction with that of its import. They are found once for
# all events, not for each: a run may have many that are counted.
_HAPPENED_HERE = f"e.xmin NOT IN (SELECT i.xmin FROM run_events i WHERE i.id > :low AND i.kind = '{IMPORTED}')"
_COUNT = text(f"""
INSERT INTO metric_counts AS c (name, app, workflow, count)
SELECT e.kind, coalesce(a.name, ''), coalesce(w.name, ''), count(*)
FROM run_events e LEFT JOIN workflow_runs r ON r.id = e.run_id LEFT JOIN apps a ON a.id = r.app_id
LEFT JOIN workflows w ON w.id = r.workflow_id
WHERE {OF_PORTION} AND e.kind = ANY(CAST(:kinds AS text[])) AND {_HAPPENED_HERE}
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
ON CONFLICT (name, app, workflow) DO UPDATE SET count = c.count + excluded.count
""")

_READ = text("SELECT name, app, workflow, count AS counted FROM metric_counts ORDER BY name, app, workflow")


def count_events(conn: Connection) -> None:
    """Count what has come since the last look; nothing while another does."""
    portion = next_portion(conn, "metric_mark", MOST_EVENTS)
    if portion is not None:
        conn.execute(_COUNT, {**asdict(portion), "kinds": list(KINDS)})


def read_counts(conn: Connection) -> Sequence[Row[Any]]:
    """Name (of `KINDS`), app, workflow, counted."""
    return conn.execute(_READ).all()
