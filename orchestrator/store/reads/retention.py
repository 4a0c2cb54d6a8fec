"""How long what has ended is kept: rules, and what holds for histories without one."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.retention import RUNS
from orchestrator.store.histories import HISTORIES
from orchestrator.store.reads.page import iso

_RULES = text("""
SELECT what, app, workflow, nullif(status, '') AS status, keep_seconds, keep_newest, changed_at, changed_by
FROM retention_rules ORDER BY what <> 'runs', what, workflow_key = '', workflow_key, app_key = '', app_key, status = '',
  status
""")
_NOBODY = {"app": None, "workflow": None, "status": None, "keep_newest": None, "changed_at": None, "changed_by": None}


def list_rules(conn: Connection) -> list[dict[str, Any]]:
    """Rules for runs, the most particular first, then what holds for each history; `default` where no rule says so."""
    rules = [{**row._mapping, "changed_at": iso(row.changed_at), "default": False} for row in conn.execute(_RULES)]
    said = {rule["what"] for rule in rules}
    rules += [
        {"what": history.name, "keep_seconds": history.keep_seconds, **_NOBODY, "default": True}
        for history in HISTORIES.values()
        if history.name not in said
    ]
    return sorted(rules, key=lambda rule: rule["what"] != RUNS)
