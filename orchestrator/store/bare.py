"""The least that anything durable costs on a server, for `orchestrator bench` to compare with."""

from __future__ import annotations

import time

from orchestrator.store.db import Database


def commits_per_second(db: Database, seconds: float) -> float:
    """How often one client, for so many seconds, adds one to the only row of a table, each time committed.

    As the engine calls its functions: one statement, one round trip. It makes a table of its own, and removes it.
    """
    with db.transaction() as conn:
        conn.exec_driver_sql("CREATE TABLE bare_commits AS SELECT 0 AS n")
    count, began = 0, time.monotonic()
    while time.monotonic() < began + seconds:
        db.call("UPDATE bare_commits SET n = n + 1 RETURNING n", [])
        count += 1
    took = time.monotonic() - began
    with db.transaction() as conn:
        conn.exec_driver_sql("DROP TABLE bare_commits")
    return count / took
