"""Prove from the rows that every open step has something that will move it, and that what is counted is right.

Read only, in portions, each a statement and so one moment of the database. What may be wrong for a moment, because the
coordinator has not come to it yet, is looked at twice: it is found if it has stayed the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row

from orchestrator.domain.check_words import told
from orchestrator.domain.recount import recount
from orchestrator.domain.rules import Tally
from orchestrator.domain.states import STEP_OPEN, StepStatus
from orchestrator.services.blobs import Blobs
from orchestrator.services.clean_blobs import Missing, find_missing
from orchestrator.services.engine import Rounds
from orchestrator.services.plans import Plans
from orchestrator.store import check_runs, check_schedules, check_steps, children
from orchestrator.store.db import Database
from orchestrator.store.reads.workers import SILENT_SECONDS

PORTION = 5_000  # open steps of a statement, about
_RUNS = 500
_CHILDREN = 500


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong: what, where, and what an operator does about it."""

    kind: str
    run_id: str | None
    step: str | None
    item: int | None
    what: str
    todo: str


@dataclass(slots=True)
class Report:
    """What was looked at, how often each kind was found, and the first findings of each."""

    runs: int = 0
    steps: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def healthy(self) -> bool:
        return not self.counts


@dataclass(frozen=True, slots=True)
class Patience:
    """`seconds` until what is due is late; `grace` after a timeout; `silent` until a process counts as gone."""

    seconds: float = 10.0
    grace: float = 5.0
    silent: float = SILENT_SECONDS


def check(
    db: Database,
    patience: Patience | None = None,
    *,
    most: int = 20,
    processes: bool = True,
    blobs: Blobs | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Look at all that is open; at most `most` findings of each kind are told. Raises `Unreachable`.

    `processes`: also whether workers and a coordinator are there. `blobs`: also whether what any run has put into the
    blob store is there; raises `BlobsAway`.
    """
    looking = _Looking(db, patience or Patience(), Report())
    seen = [*looking.sure()]
    soon = {_key(found): found for found in looking.soon(processes)}
    if soon:
        sleep(looking.patience.seconds)
        seen += [found for found in looking.soon(processes) if _key(found) in soon]
    if blobs is not None:
        seen += map(_of_blob, find_missing(db, blobs))
    for found in seen:
        _count(looking.report, found, most)
    return looking.report


_Found = tuple[str, dict[str, Any]]


def _key(found: _Found) -> tuple[Any, ...]:
    """What stays the same while nothing moves."""
    kind, facts = found
    return kind, *(
        facts.get(name) for name in ("run", "step", "item", "attempt", "queue", "app", "schedule", "fire_at")
    )


def _count(report: Report, found: _Found, most: int) -> None:
    kind, facts = found
    report.counts[kind] = report.counts.get(kind, 0) + 1
    if report.counts[kind] <= most:
        step, item = facts.get("step"), facts.get("item")
        report.findings.append(Finding(kind, facts.get("run"), step, item, *told(kind, facts)))


@dataclass(frozen=True, slots=True)
class _Looking:
    db: Database
    patience: Patience
    report: Report
    plans: Plans = field(default_factory=Plans)

    def sure(self) -> Iterator[_Found]:
        """What can never be."""
        for after, until in self._portions():
            self.report.steps += self._rows(check_steps.count_open, after, until)
            yield from map(_of_step, self._rows(check_steps.find_stuck, after, until))
            for row in self._rows(check_steps.find_miscounted_items, after, until):
                yield from _of_items(row)
            yield from map(_of_calls, self._rows(check_steps.find_miscounted_calls, after, until))
        for runs in self._run_portions():
            yield from map(_of_run, self._rows(check_runs.find_stuck, runs))
            yield from self._miscounted(runs)
        for row in self._rows(check_runs.find_pools_over, _RUNS):
            yield "pool_over", {"pool": row.name, "slots": row.slots, "taken": row.taken}
        for row in self._rows(check_schedules.find_never_due, _RUNS):
            yield "schedule_never_due", dict(row._mapping)

    def soon(self, processes: bool) -> Iterator[_Found]:
        """What is wrong if it lasts."""
        seconds, grace = self.patience.seconds, self.patience.grace
        for after, until in self._portions():
            yield from map(_of_step, self._rows(check_steps.find_late, after, until, seconds, grace))
        for runs in self._run_portions():
            yield from map(_of_run, self._rows(check_runs.find_late, runs, seconds))
        for run_id in self._rows(children.find_untold, _RUNS):
            yield "end_not_told", {"run": run_id}
        yield from self._not_followed()
        yield from map(_of_schedule, self._rows(check_schedules.find_late, seconds, _RUNS))
        if processes:
            yield from self._processes()

    def _processes(self) -> Iterator[_Found]:
        for row in self._rows(check_runs.find_unserved, self.patience.silent, _RUNS):
            yield "no_worker", {"queue": row.queue, "steps": row.steps}
        if not self._rows(check_runs.is_watched, self.patience.silent):
            yield "no_coordinator", {}

    def _not_followed(self) -> Iterator[_Found]:
        after: str | None = Rounds.first
        while after is not None:
            rows = self._rows(children.look_at_children, after, _CHILDREN)
            yield from (("child_not_followed", {"run": row.id, "attempt": row.need}) for row in rows if row.need)
            after = rows[-1].id if len(rows) == _CHILDREN else None

    def _miscounted(self, runs: Sequence[str]) -> Iterator[_Found]:
        """Steps whose counts of sources are not those of their sources."""
        with self.db.transaction() as conn:
            rows = check_steps.load_tallies(conn, runs)
            plans = {row.revision_id: self.plans.get(conn, row.revision_id) for row in rows}
        by_run: dict[str, list[Row[Any]]] = {}
        for row in rows:
            by_run.setdefault(row.run_id, []).append(row)
        for steps in by_run.values():
            plan = plans[steps[0].revision_id]
            statuses = {row.position: StepStatus(row.status) for row in steps}
            truths = {row.position: row.edge_truth or {} for row in steps}
            afresh = recount(plan, statuses, truths)
            yield from (_of_sources(row, afresh[row.position][0]) for row in steps if _differs(row, afresh))

    # Portions.

    def _rows(self, read: Callable[..., Any], *given: Any) -> Any:
        with self.db.transaction() as conn:
            return read(conn, *given)

    def _portions(self) -> Iterator[tuple[str, str | None]]:
        after = Rounds.first
        while True:
            until = self._rows(check_steps.next_portion, after, PORTION)
            yield after, until
            if until is None:
                return
            after = until

    def _run_portions(self) -> Iterator[Sequence[str]]:
        """Ids of open runs, with about as many steps; those that begin meanwhile may come along."""
        after, ids, steps, total = Rounds.first, list[str](), 0, 0
        while rows := self._rows(check_runs.open_runs, after, _RUNS):
            for row in rows:
                ids.append(row.id)
                steps += row.step_count
                total += 1
                if steps >= PORTION:
                    yield ids
                    ids, steps = [], 0
            after = rows[-1].id
        if ids:
            yield ids
        self.report.runs = total


def _of_blob(gone: Missing) -> _Found:
    facts = {"run": gone.run_id, "step": gone.step, "item": gone.item, "what": gone.what, "path": gone.path}
    return "blob_missing", facts


def _of_step(row: Row[Any]) -> _Found:
    facts = dict(row._mapping)
    return facts.pop("kind"), facts | {"run": row.run_id, "step": row.name, "item": row.item_index}


def _of_run(row: Row[Any]) -> _Found:
    facts = dict(row._mapping)
    return facts.pop("kind"), facts | {"run": row.run_id}


def _of_schedule(row: Row[Any]) -> _Found:
    facts = dict(row._mapping)
    return facts.pop("kind"), facts | {"fire_at": row.fire_at.isoformat()}


def _of_items(row: Row[Any]) -> Iterator[_Found]:
    where = {"run": row.run_id, "step": row.name}
    kept, counted = (row.items_made, row.items_open, row.items_failed), (row.made, row.open, row.failed)
    if kept != counted:
        yield "items_miscounted", where | {"kept": _items(*kept), "counted": _items(*counted)}
    elif row.under_way == 0:
        yield "items_stand_still", where | {"open": row.open}


def _of_calls(row: Row[Any]) -> _Found:
    facts = {"run": row.run_id, "step": row.name, "open": row.open, "kept": row.items_open}
    return "calls_miscounted" if row.open != row.items_open else "calls_stand_still", facts


def _items(made: int, open_ones: int, failed: int) -> str:
    return f"{made} made, {open_ones} open, {failed} failed"


def _kept(row: Row[Any]) -> Tally:
    return Tally(
        row.source_count,
        row.remaining_sources,
        row.satisfied_sources,
        row.failed_sources,
        row.upstream_failed_sources,
        row.skipped_sources,
        row.edge_errors,
    )


def _differs(row: Row[Any], afresh: Any) -> bool:
    """Only of open steps: nobody looks at the counts of others again, unless they are opened, which counts afresh."""
    return StepStatus(row.status) in STEP_OPEN and _kept(row) != afresh[row.position][0]


def _of_sources(row: Row[Any], counted: Tally) -> _Found:
    facts = {"run": row.run_id, "step": row.name, "kept": _tally(_kept(row)), "counted": _tally(counted)}
    return "sources_miscounted", facts


def _tally(tally: Tally) -> str:
    ends = f"{tally.satisfied} satisfied, {tally.failed} failed, {tally.upstream_failed} upstream_failed"
    return f"{tally.remaining} of {tally.total} open, {ends}, {tally.skipped} skipped"
