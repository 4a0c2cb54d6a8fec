"""The audit log: who did what to what, when and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from flask import request, url_for

from orchestrator.domain.roles import Role
from orchestrator.domain.times import read_time
from orchestrator.errors import InvalidInput
from orchestrator.ids import is_id
from orchestrator.store.reads.audit_rows import AuditFilters, AuditPage, list_actions, list_audit_rows
from web.application import database
from web.pages.frame import identity, page_blueprint, render, scope

audit = page_blueprint("audit")

_PAGE = 50
_BELOW_ADMIN = (
    "run",
    "workflow",
    "pack",
    "pool",
    "schedule",
)  # who may come in, and what apps there are, is for administrators
_WORDS = ("actor", "action", "target", "since", "until", "bulk")


@audit.get("/audit")
def index() -> str:
    """The log, by what the address says."""
    query, after = AuditQuery.of(request.args), request.args.get("after") or None
    with database().transaction() as conn:
        try:
            page = list_audit_rows(conn, query.filters(), app=scope(), after=after, limit=_PAGE)
        except InvalidInput:
            page = AuditPage([])
        actions = list_actions(conn)
    return render("audit/index.html", query=query, page=page, actions=actions, after=after, told=target_url)


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """The filters as texts, as the form shows them."""

    actor: str = ""
    action: str = ""
    target: str = ""
    since: str = ""
    until: str = ""
    bulk: str = ""

    @classmethod
    def of(cls, given: Any) -> AuditQuery:
        return cls(**{name: given.get(name, "").strip() for name in _WORDS})

    @property
    def any(self) -> bool:
        return self != AuditQuery()

    def filters(self) -> AuditFilters:
        return AuditFilters(
            actor=self.actor or None,
            action=self.action or None,
            target=self.target or None,
            since=_moment(self.since),
            until=_moment(self.until),
            bulk_id=self.bulk if is_id(self.bulk) else None,
            kinds=None if identity().role >= Role.ADMIN else _BELOW_ADMIN,
        )

    def url(self, **changes: str | None) -> str:
        after = changes.pop("after", None)
        query = replace(self, **changes)  # type: ignore[arg-type]
        given = {name: getattr(query, name) or None for name in _WORDS}
        return url_for("audit.index", **given, after=after)


def target_url(entry: dict[str, Any]) -> str | None:
    """The page of what the act was done to."""
    target = entry["target"]
    match entry["target_kind"]:
        case "run":
            return url_for("run.show", run_id=target)
        case "workflow":
            kind, _, owner = str((entry["data"] or {}).get("owner", "")).partition(" ")
            query: dict[str, Any] = {"name": target} | ({kind: owner} if kind in ("app", "group") else {})
            return url_for("workflow.show", **query)
        case "pool":
            return url_for("pools.show", name=target)
        case "schedule":
            return url_for("schedules.show", id=str((entry["data"] or {}).get("schedule_id", "")))
        case _:
            return None


def _moment(text: str) -> datetime | None:
    at = read_time(text.replace(" ", "+") if "T" in text else text) if text else None
    return at if at is not None and 1970 < at.year < 9000 else None
