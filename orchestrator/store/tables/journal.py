"""What the functions of code-first workflows did (docs/adr/0023)."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Integer,
    SmallInteger,
    Table,
    Text,
)

from orchestrator.store.tables.base import NOW, Id, Instant, metadata

# `part`: 0 the entry itself, with its end if it was done in the function's process; 1 the end of one that has a step;
# from 2 on failed tries, `due_at` being when the next is due. At position 0 the input of `continue_as_new`.
workflow_journal = Table(
    "workflow_journal",
    metadata,
    Column("run_id", Id, ForeignKey("workflow_runs.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("part", SmallInteger, primary_key=True),
    Column("verb", Text, nullable=False),
    Column("name", Text, nullable=False),
    # The name with an ordinal where it is repeated: the name of its step.
    Column("key", Text, nullable=False),
    Column("status", Text),
    Column("value", JSON),
    Column("error", JSON),
    # Where in the function's file it was asked for.
    Column("line", Text),
    # The driver's attempt, and its generation (`continue_as_new`).
    Column("attempt", Integer, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("due_at", Instant),
    # The order in which entries and ends were written.
    Column("seq", BigInteger, Identity(), nullable=False),
    Column("at", Instant, nullable=False, server_default=NOW),
    CheckConstraint("part <> 1 OR status IS NOT NULL", name="ended"),
)
