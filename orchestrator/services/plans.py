"""Compiled plans by revision, kept in memory: revisions never change."""

from __future__ import annotations

import gc

from sqlalchemy import Connection

from orchestrator.domain.build import build
from orchestrator.domain.graph import Plan, make_plan
from orchestrator.services.memory import Memory
from orchestrator.store import workflows
from orchestrator.store.workflows import Revision


class Plans:
    """A bounded cache."""

    def __init__(self) -> None:
        self._plans: Memory[str, Plan] = Memory()

    def at_hand(self, revision_id: str) -> Plan | None:
        """The plan, if it is in memory."""
        return self._plans.get(revision_id)

    def get(self, conn: Connection, revision_id: str) -> Plan:
        """The plan of a stored revision."""
        return self.at_hand(revision_id) or self.of(workflows.load_revision(conn, revision_id))

    def of(self, revision: Revision) -> Plan:
        """The plan of a revision at hand."""
        return self._plans.of(revision.id, lambda: _made(revision))


def _made(revision: Revision) -> Plan:
    """The plan, made without the garbage collector, which would look again and again at thousands of steps that stay:
    a third of the time for 5,000."""
    collects = gc.isenabled()
    gc.disable()
    try:
        return make_plan(build(revision.document))
    finally:
        if collects:
            gc.enable()
