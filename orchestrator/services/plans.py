"""Compiled plans by revision, kept in memory: revisions never change."""

from __future__ import annotations

import threading
from collections import OrderedDict

from sqlalchemy import Connection

from orchestrator.domain.build import build
from orchestrator.domain.graph import Plan, make_plan
from orchestrator.store import workflows
from orchestrator.store.workflows import Revision

_MOST_REVISIONS = 256


class Plans:
    """A bounded cache."""

    def __init__(self) -> None:
        self._plans: OrderedDict[str, Plan] = OrderedDict()
        self._lock = threading.Lock()

    def at_hand(self, revision_id: str) -> Plan | None:
        """The plan, if it is in memory."""
        with self._lock:
            plan = self._plans.get(revision_id)
            if plan is not None:
                self._plans.move_to_end(revision_id)
            return plan

    def get(self, conn: Connection, revision_id: str) -> Plan:
        """The plan of a stored revision."""
        return self.at_hand(revision_id) or self.of(workflows.load_revision(conn, revision_id))

    def of(self, revision: Revision) -> Plan:
        """The plan of a revision at hand."""
        plan = self.at_hand(revision.id) or make_plan(build(revision.document))
        with self._lock:
            self._plans[revision.id] = plan
            self._plans.move_to_end(revision.id)
            if len(self._plans) > _MOST_REVISIONS:
                self._plans.popitem(last=False)
        return plan
