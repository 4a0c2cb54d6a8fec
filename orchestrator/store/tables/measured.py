"""What is told of all that happens: measures, and how far traces are."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Double, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY

from orchestrator.store.tables.base import metadata

# What processes have counted (services/tally.py): of a histogram how often each bucket, of a counter one number.
measured = Table(
    "measured",
    metadata,
    Column("name", Text, primary_key=True),
    Column("label", Text, primary_key=True),
    Column("counts", ARRAY(BigInteger), nullable=False),
    Column("total", Double, nullable=False),
    postgresql_with={"fillfactor": 50},
)

# Up to where the ends of runs are told as traces, as in `metric_mark`.
trace_mark = Table(
    "trace_mark",
    metadata,
    Column("one", Boolean, primary_key=True),
    Column("counted_xid", BigInteger, nullable=False),
    Column("low_event", BigInteger, nullable=False),
    Column("mark_xid", BigInteger, nullable=False),
    Column("mark_event", BigInteger, nullable=False),
    CheckConstraint("one", name="one"),
)
