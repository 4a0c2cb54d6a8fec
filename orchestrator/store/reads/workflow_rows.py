"""Workflows as a list shows them: found by words, each with how its last runs went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, text

from orchestrator.domain.states import RUN_TERMINAL, RunStatus
from orchestrator.store.reads.page import Page, iso, pack_cursor, page_of, unpack_cursor
from orchestrator.store.reads.runs import like
from orchestrator.store.reads.workflows import SHAPE, shape_workflow
from orchestrator.store.workflows import find_app, name_key

LAST = 100  # runs of a workflow that its numbers are about
_LOOKED_AT = 1_000  # of which those of one app are taken


@dataclass(frozen=True, slots=True)
class LastRun:
    """`seconds`: how long it took; None for one that has not ended or never began."""

    id: str
    status: str
    seconds: float | None
    created_at: str | None


@dataclass(frozen=True, slots=True)
class Lately:
    """The last runs of a workflow, newest first, at most 100."""

    runs: Sequence[LastRun] = field(default_factory=list)

    @property
    def ended(self) -> int:
        return sum(run.status in RUN_TERMINAL for run in self.runs)

    @property
    def succeeded(self) -> int:
        return sum(run.status == RunStatus.SUCCEEDED for run in self.runs)

    @property
    def success(self) -> float | None:
        """The part of the ended runs that succeeded; None before any has ended."""
        return self.succeeded / self.ended if self.ended else None

    def percentile(self, share: float) -> float | None:
        """How long that share of the ended runs took at most, in seconds; the nearest one's."""
        took = sorted(run.seconds for run in self.runs if run.seconds is not None)
        return took[min(int(share * len(took)), len(took) - 1)] if took else None


_LIST = f"""
{SHAPE}
WHERE (w.name_key, CAST(w.id AS text)) > (:key, :id) AND w.deleted_at IS NULL {{of_app}} {{by_words}}
ORDER BY w.name_key, CAST(w.id AS text) LIMIT :limit
"""
_OF_APP = "AND (w.app_id = :app_id OR w.group_id = (SELECT group_id FROM apps WHERE id = :app_id))"
_BY_WORDS = """
AND (w.name_key LIKE :words OR lower(v.document ->> 'label') LIKE :words OR lower(v.document ->> 'tags') LIKE :words)
"""


def list_workflow_rows(
    conn: Connection, *, words: str = "", app: str | None = None, after: str | None = None, limit: int = 25
) -> Page:
    """A page of workflows by name: all, or what one app sees; `words`: a part of name, label or tags, in any case."""
    key, id = unpack_cursor(after, 2) if after is not None else ("", "")
    values: dict[str, Any] = {"key": key, "id": id, "limit": limit + 1}
    if app is not None:
        values["app_id"] = find_app(conn, app).id
    if words:
        values["words"] = f"%{like(name_key(words))}%"
    parts = {"of_app": _OF_APP if app is not None else "", "by_words": _BY_WORDS if words else "", "more": ""}
    rows = conn.execute(text(_LIST.format(**parts)), values).all()
    return page_of(rows, limit, shape_workflow, lambda row: pack_cursor(row.name_key, str(row.id)))


# By the index of a workflow's runs: so many entries of it, however long the history. It is asked for between bounds, as
# for an equality the planner may rather read the runs of all workflows in order.
_RUNS = """
SELECT w.id AS workflow_id, r.* FROM unnest(CAST(:ids AS uuid[])) AS w (id), LATERAL (
  SELECT * FROM (
    SELECT n.id AS run_id, n.app_id, n.status, n.created_at, extract(epoch FROM n.finished_at - n.started_at) AS seconds
    FROM workflow_runs n
    WHERE (n.workflow_id, n.id) BETWEEN (w.id, CAST(:lowest AS uuid)) AND (w.id, CAST(:highest AS uuid))
    ORDER BY n.workflow_id DESC, n.id DESC LIMIT :looked_at) l
  {of_app} LIMIT :last) r
"""


def lately_of(conn: Connection, ids: Sequence[str], *, app: str | None = None) -> dict[str, Lately]:
    """The last runs of each workflow, by its id; with `app` only that app's."""
    values: dict[str, Any] = {"ids": list(ids), "last": LAST, "looked_at": LAST if app is None else _LOOKED_AT}
    values |= {"lowest": str(UUID(int=0)), "highest": str(UUID(int=(1 << 128) - 1))}
    if app is not None:
        values["app_id"] = find_app(conn, app).id
    of_app = "" if app is None else "WHERE l.app_id = CAST(:app_id AS uuid)"
    found: dict[str, list[LastRun]] = {str(id): [] for id in ids}
    for row in conn.execute(text(_RUNS.format(of_app=of_app)), values):
        found[str(row.workflow_id)].append(_last_run(row))
    return {id: Lately(sorted(runs, key=lambda run: run.id, reverse=True)) for id, runs in found.items()}


def _last_run(row: Row[Any]) -> LastRun:
    took = float(row.seconds) if row.seconds is not None else None
    return LastRun(str(row.run_id), row.status, took, iso(row.created_at))
