"""Runs by values of their input: an index of small inputs, without what is secret."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, text

from orchestrator.domain.where import Where
from orchestrator.store.tables.runs import SEARCHED

# By an index: few revisions have a secret field, and documents are large.
_SECRET = """
SELECT id, document -> 'input_schema' AS input_schema FROM workflow_revisions
WHERE strpos(CAST(document AS text), 'writeOnly') > 0 {of_workflows}
"""
_OF_WORKFLOWS = "AND workflow_id = ANY(CAST(:workflows AS uuid[]))"


def containing(where: Sequence[Where]) -> str:
    """The condition that all of these hold, over `workflow_runs r`, with the values of `contained`."""
    one = [" OR ".join(f"{SEARCHED} @> CAST(:{name} AS jsonb)" for name in _names(n, w)) for n, w in enumerate(where)]
    return " AND ".join(f"({part})" for part in one)


def contained(where: Sequence[Where]) -> dict[str, str]:
    """The values of the condition."""
    return {
        name: json.dumps(document)
        for place, one in enumerate(where)
        for name, document in zip(_names(place, one), one.documents(), strict=True)
    }


def where_secret(conn: Connection, where: Sequence[Where], workflows: Sequence[str] | None) -> list[str]:
    """The revisions (of these workflows, or of all) in which one of the values might be a secret."""
    of_some = "" if workflows is None else _OF_WORKFLOWS
    values: dict[str, Any] = {} if workflows is None else {"workflows": list(workflows)}
    rows = conn.execute(text(_SECRET.format(of_workflows=of_some)), values)
    return [str(row.id) for row in rows if any(one.may_be_secret(row.input_schema) for one in where)]


def _names(place: int, one: Where) -> list[str]:
    return [f"where_{place}_{n}" for n in range(len(one.values))]
