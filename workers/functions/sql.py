"""`sql.query`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.functions import function
from orchestrator.store import foreign


@function(name="sql.query")
def query(url: str, sql: str, parameters: Mapping[str, Any] | None = None, max_rows: int = 1000) -> dict[str, Any]:
    """Run one SQL statement: `rows` as maps, and `count` of rows given or changed.

    `url` names the database, usually as `{{ secrets.warehouse_url }}`. Values go in as `:name` and `parameters`,
    never pasted into the text. Committed when it succeeds, before the step does: make a change idempotent.
    """
    rows, count = foreign.query(url, sql, parameters or {}, max_rows)
    return {"rows": rows, "count": count}
