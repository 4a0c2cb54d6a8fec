"""Look at what is below a run, level by level, for a view with room for so many lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from orchestrator.store.reads import Below, count_below, list_below


@dataclass(frozen=True, slots=True)
class Family:
    """Some of the runs below one: `children` of each by its id, in order; how many `more` each has."""

    children: Mapping[str, Sequence[Below]] = field(default_factory=dict)
    more: Mapping[str, int] = field(default_factory=dict)


def descend(conn: Connection, run_id: str, room: int) -> Family:
    """What is below the run, in about `room` lines: upper levels first, each shared evenly by their parents."""
    children: dict[str, list[Below]] = {}
    parents, seen = [run_id], [run_id]
    while parents and room > 0:
        level = list_below(conn, parents, max(1, room // (2 * len(parents))))[:room]
        for one in level:
            children.setdefault(one.parent, []).append(one)
        room -= len(level)
        parents = [one.id for one in level]
        seen += parents
    counts = count_below(conn, seen)
    more = {id: count - len(children.get(id, ())) for id, count in counts.items()}
    return Family(children, {id: count for id, count in more.items() if count > 0})
