"""Remove what is older than it is to be kept: runs by the rules, and histories. In small transactions, a portion each.

Any number of processes may do it at once: each passes over what another has locked.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.retention import Ended, Rule, Sieve
from orchestrator.errors import Locked, Troubled
from orchestrator.services.blobs import NO_BLOBS, Blobs
from orchestrator.services.clean_blobs import remove_paths
from orchestrator.store.db import Database
from orchestrator.store.histories import HISTORIES, forget
from orchestrator.store.removal import Removed, remove_trees
from orchestrator.store.retention import Workflow, id_so_old, load_rules, page_of_runs, workflows_with_runs

log = logging.getLogger(__name__)

_PAGE = 1000  # runs that are looked at
_TREES = 50  # that go in one transaction
_ROWS = 2000  # of a history


@dataclass(frozen=True, slots=True)
class Portion:
    """What one transaction removed, or (of a preview) would. `counts`: runs that no other had started, by workflow, app
    and status; `runs`: with those below them; `rows`: of all tables; `history`: the name of one, with its rows."""

    counts: dict[tuple[str, str, str], int] = field(default_factory=dict)
    runs: int = 0
    rows: int = 0
    history: str | None = None


def collect(
    db: Database, rules: Sequence[Rule] | None = None, *, preview: bool = False, blobs: Blobs = NO_BLOBS
) -> Iterator[Portion]:
    """Remove runs by these rules; by those that are stored for None. A portion a transaction, some of them empty.

    A `preview` removes nothing: it counts what the rules let go, of which some may be kept for the sake of others.
    Raises `Unreachable`.
    """
    with db.transaction() as conn:
        chosen = load_rules(conn) if rules is None else rules
        workflows = workflows_with_runs(conn) if any(rule.concerns(rule.workflow) for rule in chosen) else []
    for workflow in workflows:
        sieve = Sieve.of(workflow.key, chosen)
        if sieve.removes:
            yield from _of_workflow(db, workflow, sieve, preview, blobs)


def collect_histories(db: Database, rules: Sequence[Rule] | None = None) -> Iterator[Portion]:
    """Remove what is old of histories, by the rules that are stored and what holds without one."""
    with db.transaction() as conn:
        stored = load_rules(conn) if rules is None else rules
    said = {rule.what: rule.keep_seconds for rule in stored}
    for name, history in HISTORIES.items():
        keep = said.get(name, history.keep_seconds)
        gone = _ROWS
        while keep is not None and gone == _ROWS:
            with db.transaction(lazy=True) as conn:
                gone = forget(conn, history, keep, _ROWS)
            yield Portion(rows=gone, history=name)


def _of_workflow(db: Database, workflow: Workflow, sieve: Sieve, preview: bool, blobs: Blobs) -> Iterator[Portion]:
    with db.transaction() as conn:
        after: str | None = id_so_old(conn, sieve.youngest)
    while after is not None:
        with db.transaction() as conn:
            ended, after = page_of_runs(conn, workflow.id, after, _PAGE)
        going = [(run, keep) for run in ended if (keep := sieve.lets_go(run)) is not None]
        if not going:
            yield Portion()
        elif preview:
            yield _portion(workflow, [run for run, _ in going])
        else:
            for first in range(0, len(going), _TREES):
                yield _remove(db, workflow, going[first : first + _TREES], blobs)


def _remove(db: Database, workflow: Workflow, going: Sequence[tuple[Ended, float]], blobs: Blobs) -> Portion:
    """Together; one by one where somebody holds a lock of one."""
    try:
        removed = [_removed(db, going, blobs)]
    except Locked:
        removed = [_or_left(db, one, blobs) for one in going]
    roots = {root for part in removed for root in part.roots}
    portion = _portion(workflow, [run for run, _ in going if run.id in roots])
    return Portion(portion.counts, sum(r.runs for r in removed), sum(r.rows for r in removed))


def _removed(db: Database, going: Sequence[tuple[Ended, float]], blobs: Blobs) -> Removed:
    with db.transaction(lazy=not blobs) as conn:  # a blob goes once it is certain that its row has
        removed = remove_trees(conn, {run.id: keep for run, keep in going}, blobs=bool(blobs))
    remove_paths(blobs, removed.blobs)
    return removed


def _or_left(db: Database, one: tuple[Ended, float], blobs: Blobs) -> Removed:
    try:
        return _removed(db, [one], blobs)
    except (Locked, Troubled) as error:
        log.info("run %s is left for another time: %s", one[0].id, error)
        return Removed()


def _portion(workflow: Workflow, going: Sequence[Ended]) -> Portion:
    counts: dict[tuple[str, str, str], int] = {}
    for run in going:
        key = (workflow.name, run.app, run.status)
        counts[key] = counts.get(key, 0) + 1
    return Portion(counts, len(going))
