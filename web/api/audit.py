"""What people did."""

from __future__ import annotations

from typing import Any

from flask import Response
from marshmallow import fields

from orchestrator.domain.roles import Role
from orchestrator.store.reads.audit import AuditFilters, page_audit
from web.api.fields import Paged, Text, When
from web.api.noun import Noun, paged
from web.api.shapes.people import ActPage
from web.api.use import check_run, for_all_apps
from web.application import database
from web.auth import current_identity

audit = Noun("audit", "What people and programs did, to what, and why.")


class AuditQuery(Paged):
    """Which acts: those for which all that is given holds."""

    run = fields.UUID(load_default=None, metadata={"description": "Done to this run."})
    kind = Text(load_default=None, metadata={"description": "Done to a thing of this kind: `workflow`, `token`, ..."})
    target = Text(load_default=None, metadata={"description": "Done to what has this name, or id."})
    actor = Text(load_default=None, metadata={"description": "Done by: `api:ci`, `cli:anna`, ..."})
    action = Text(load_default=None, metadata={"description": "This act: `cancel`, `register`, `create_token`, ..."})
    bulk_id = fields.UUID(load_default=None, metadata={"description": "Part of this bulk."})
    since = When(load_default=None, metadata={"description": "At this time or later."})
    until = When(load_default=None, metadata={"description": "Before this time."})


@audit.get("/audit", ActPage, role=Role.ADMIN, query=AuditQuery, refused=(404,))
def list_all(query: dict[str, Any]) -> Response:
    """List what was done, newest first

    A token of one app must say which `run`, one of its app.
    """
    if query["run"] is None:
        for_all_apps("acts on anything but a run")
    run_id = str(query["run"]) if query["run"] is not None else None
    with database().transaction() as conn:
        if run_id is not None and current_identity().app is not None:
            check_run(conn, run_id)
        return paged(page_audit(conn, _filters(query, run_id), query["after"], query["limit"]))


def _filters(query: dict[str, Any], run_id: str | None) -> AuditFilters:
    named = {name: query[name] for name in ("kind", "target", "actor", "action", "since", "until")}
    bulk_id = str(query["bulk_id"]) if query["bulk_id"] is not None else None
    if run_id is not None:
        named |= {"kind": "run", "target": run_id}
    return AuditFilters(**named, bulk_id=bulk_id)
