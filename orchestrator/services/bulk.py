"""One verb on every run that filters find: looked at first, then run by run, each in a transaction of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from orchestrator.domain.states import RUN_OPEN, RUN_TERMINAL, RunStatus
from orchestrator.errors import Conflict, InvalidInput, Locked, NotFound, Problem
from orchestrator.ids import new_id
from orchestrator.services.cancel import cancel
from orchestrator.services.delete import delete
from orchestrator.services.pause import pause, resume
from orchestrator.services.rerun import rerun
from orchestrator.services.retry import retry
from orchestrator.store.db import Database
from orchestrator.store.reads import RunFilters, get_run
from orchestrator.store.reads.runs import find_statuses

_PAGE = 1000
_FIRST = 5


class Verb(StrEnum):
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    RERUN = "rerun"
    DELETE = "delete"


# What a verb is meant for, when the filters name no status.
FITS: Mapping[Verb, frozenset[RunStatus]] = {
    Verb.CANCEL: RUN_OPEN,
    Verb.PAUSE: frozenset({RunStatus.RUNNING}),
    Verb.RESUME: frozenset({RunStatus.PAUSED}),
    Verb.RETRY: frozenset({RunStatus.FAILED, RunStatus.CANCELED}),
    Verb.RERUN: RUN_TERMINAL,
    Verb.DELETE: RUN_TERMINAL,
}


ACTS: Mapping[Verb, Callable[..., Any]] = {
    Verb.CANCEL: cancel,
    Verb.PAUSE: pause,
    Verb.RESUME: resume,
    Verb.RETRY: retry,
    Verb.RERUN: rerun,
    Verb.DELETE: delete,
}


@dataclass(frozen=True, slots=True)
class Found:
    """The runs a bulk is about, newest first; `first`: views of some. `bulk_id` is that of its audit entries."""

    bulk_id: str
    verb: Verb
    ids: Sequence[str]
    counts: Mapping[str, int]
    first: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Acted:
    """What became of one run: `error` says why the verb was refused; `given` is what it gave."""

    run_id: str
    given: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Bulk:
    """A bulk that is over, or (of a dry run) was not begun."""

    found: Found
    acted: Sequence[Acted] = ()

    @property
    def id(self) -> str:
        """What its entries in the audit log have in common."""
        return self.found.bulk_id

    @property
    def count(self) -> int:
        return len(self.found.ids)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many runs of each status were found."""
        return self.found.counts

    @property
    def done(self) -> list[Acted]:
        return [one for one in self.acted if one.error is None]

    @property
    def refused(self) -> list[Acted]:
        return [one for one in self.acted if one.error is not None]


def find(db: Database, verb: Verb, filters: RunFilters) -> Found:
    """The runs the verb is to act on; nothing is changed. Filters that name no status find those it is meant for.

    Raises `NotFound` as `list_runs` does, and `InvalidInput` when there is no filter: all runs are never meant.
    """
    if filters == RunFilters():
        raise InvalidInput([Problem("", "name at least one filter")], verb)
    filters = meant(verb, filters)
    ids: list[str] = []
    counts: Counter[str] = Counter()
    for page in _pages(db, filters):
        ids.extend(id for id, _ in page)
        counts.update(status.value for _, status in page)
    with db.transaction() as conn:
        first = [get_run(conn, id) for id in ids[:_FIRST]]
    return Found(new_id(), verb, ids, dict(sorted(counts.items())), first)


def meant(verb: Verb, filters: RunFilters) -> RunFilters:
    """The filters, and what the verb is meant for where they name no status. A run below another goes with that."""
    if verb is Verb.DELETE:
        filters = replace(filters, roots_only=True)
    return filters if filters.statuses else replace(filters, statuses=sorted(FITS[verb]))


def _pages(db: Database, filters: RunFilters) -> Iterator[list[tuple[str, RunStatus]]]:
    after: str | None = None
    while True:
        with db.transaction() as conn:
            page = find_statuses(conn, filters, after, _PAGE)
        yield page
        if len(page) < _PAGE:
            return
        after = page[-1][0]


def each(run_ids: Iterable[str], act: Callable[[str], Any]) -> Iterator[Acted]:
    """Call `act(run_id)` for each run; one that refuses is told of and keeps no other from its turn."""
    for run_id in run_ids:
        try:
            yield Acted(run_id, act(run_id))
        except (Conflict, InvalidInput, Locked, NotFound) as error:
            yield Acted(run_id, error=str(error))
