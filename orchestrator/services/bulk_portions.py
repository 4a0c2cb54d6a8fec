"""One verb on every run that filters find, a portion at a time: what a page does while somebody watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.errors import InvalidInput, Problem
from orchestrator.ids import new_id
from orchestrator.services.bulk import Acted, Verb, each, meant
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters
from orchestrator.store.reads.audit import targets_of_bulk
from orchestrator.store.reads.run_rows import list_run_rows
from orchestrator.store.reads.runs import find_statuses

_FIRST = 5


@dataclass(frozen=True, slots=True)
class Preview:
    """What a bulk would be about: counted up to a bound (`more`: there are more); `first`: rows of some, newest first.

    `begin` is the cursor to begin with: what is started later has no part in it. `bulk_id` is that of its audit
    entries.
    """

    bulk_id: str
    begin: str
    counts: Mapping[str, int]
    more: bool
    first: Sequence[Mapping[str, Any]]

    @property
    def count(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Portion:
    """What became of some runs; `next` is the cursor to go on with, None at the end."""

    acted: Sequence[Acted]
    next: str | None


def preview(db: Database, verb: Verb, filters: RunFilters, most: int = 10_000) -> Preview:
    """Look at the runs the verb is to act on; raises as `bulk.find` does."""
    filters, begin = fitting(verb, filters), new_id()
    with db.transaction() as conn:
        found = find_statuses(conn, filters, begin, most + 1)
        first = list_run_rows(conn, filters, after=begin, limit=_FIRST).items
    counts = Counter(status.value for _, status in found[:most])
    return Preview(new_id(), begin, dict(sorted(counts.items())), len(found) > most, first)


def act_on_portion(
    db: Database, verb: Verb, filters: RunFilters, after: str, limit: int, act: Callable[[str], Any], bulk_id: str
) -> Portion:
    """Call `act(run_id)` for the next `limit` runs; one that refuses keeps no other from its turn.

    Asked for the same portion again, as when its answer was lost, it acts on no run that the bulk has acted on.
    """
    with db.transaction() as conn:
        found = find_statuses(conn, fitting(verb, filters), after, limit)
        done = targets_of_bulk(conn, bulk_id, [id for id, _ in found])
    ids = [id for id, _ in found]
    acted = [*map(Acted, done), *each([id for id in ids if id not in done], act)]
    return Portion(acted, ids[-1] if len(ids) == limit else None)


def fitting(verb: Verb, filters: RunFilters) -> RunFilters:
    """The filters; where they name no status, those the verb is meant for. Raises `InvalidInput` without a filter."""
    given = replace(filters, app=None, statuses=(), tags=tuple(filters.tags), ids=tuple(filters.ids))
    if given == RunFilters() and not filters.statuses:
        raise InvalidInput([Problem("", "choose runs, or name at least one filter: all runs are never meant")], verb)
    return meant(verb, filters)
