"""Measures of processes, added up in the database: what it says is the same whoever asks, and outlives them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

from orchestrator.store.db import Database


class Measure(NamedTuple):
    """How often each bucket of a histogram was met, and the sum of the values; of a counter one number, twice."""

    name: str
    label: str
    counts: tuple[int, ...]
    total: float

    def plus(self, other: Measure) -> Measure:
        """Both together."""
        counts = tuple(map(sum, zip(self.counts, other.counts, strict=True)))
        return self._replace(counts=counts, total=self.total + other.total)


# A release with other buckets begins anew.
_ADD = """
INSERT INTO measured AS m (name, label, counts, total)
SELECT x.name, x.label, x.counts, x.total
FROM json_to_recordset(%s) AS x (name text, label text, counts bigint[], total float8) ORDER BY x.name, x.label
ON CONFLICT (name, label) DO UPDATE SET
  counts = CASE WHEN cardinality(m.counts) = cardinality(excluded.counts) THEN (
    SELECT array_agg(t.a + t.b ORDER BY t.i) FROM unnest(m.counts, excluded.counts) WITH ORDINALITY AS t (a, b, i))
    ELSE excluded.counts END,
  total = CASE WHEN cardinality(m.counts) = cardinality(excluded.counts) THEN m.total ELSE 0 END + excluded.total
RETURNING 1
"""


def add_measured(db: Database, measures: Sequence[Measure]) -> None:
    """Add these, in the order of their names and labels; raises `Unreachable`."""
    db.call(_ADD, [json.dumps([measure._asdict() for measure in measures])])


def known_labels(db: Database) -> set[tuple[str, str]]:
    """The (name, label) there are; raises `Unreachable`."""
    return {(name, label) for name, label in db.call("SELECT name, label FROM measured", [])}


def read_measured(conn: Connection) -> list[Measure]:
    """All of them, by name and label."""
    rows = conn.execute(text("SELECT name, label, counts, total FROM measured ORDER BY name, label"))
    return [Measure(row.name, row.label, tuple(row.counts), row.total) for row in rows]
