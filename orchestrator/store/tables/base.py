"""What all tables share."""

from __future__ import annotations

from sqlalchemy import DateTime, MetaData, Uuid, text

from orchestrator import clock
from orchestrator.domain.states import RunStatus, StepStatus

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)

Id = Uuid(as_uuid=False)
Instant = DateTime(timezone=True)
NOW = text(clock.NOW)


def one_of(statuses: frozenset[RunStatus] | frozenset[StepStatus]) -> str:
    """The statuses as an SQL list, in a fixed order."""
    return "(" + ", ".join(f"'{status}'" for status in sorted(statuses)) + ")"
