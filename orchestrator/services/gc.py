"""One act of removal from beginning to end, summed up and in the audit log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.retention import Rule
from orchestrator.services.blobs import NO_BLOBS, Blobs
from orchestrator.services.collect import Portion, collect, collect_histories
from orchestrator.store import events
from orchestrator.store.db import Database

ENGINE = "engine"  # who removes what is old when nobody has asked for it


@dataclass(slots=True)
class Collected:
    """What went. `counts`: runs that no other had started, by workflow, app and status; `histories`: rows by name."""

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    histories: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    rows: int = 0

    def add(self, portion: Portion) -> None:
        self.rows += portion.rows
        if portion.history is not None and portion.rows:
            self.histories[portion.history] += portion.rows
        else:
            self.counts.update(portion.counts)
            self.runs += portion.runs

    @property
    def roots(self) -> int:
        return sum(self.counts.values())

    def by_workflow(self) -> list[dict[str, object]]:
        """The counts as JSON, by workflow, app and status."""
        return [
            {"workflow": workflow, "app": app, "status": status, "runs": count}
            for (workflow, app, status), count in sorted(self.counts.items())
        ]


def gc(
    db: Database,
    rules: Sequence[Rule] | None = None,
    *,
    preview: bool = False,
    limit: int | None = None,
    histories: bool = True,
    blobs: Blobs = NO_BLOBS,
    actor: str,
    reason: str | None = None,
) -> Iterator[Collected]:
    """Remove what is old, by these rules or those that are stored; the sum so far after each portion.

    What the runs have put into the blob store goes with them.

    Ends once `limit` runs or more have gone. Whoever stops asking has stopped it. Raises `Unreachable`.
    """
    sum_so_far = Collected()
    try:
        for portion in _portions(db, rules, preview, histories, blobs):
            sum_so_far.add(portion)
            yield sum_so_far
            if limit is not None and sum_so_far.roots >= limit:
                break
    finally:
        # Rows of histories grow old every few minutes: that they go then is not what anybody did.
        if not preview and (sum_so_far.runs or (sum_so_far.rows and actor != ENGINE)):
            note(db, sum_so_far, actor, reason)


def _portions(
    db: Database, rules: Sequence[Rule] | None, preview: bool, histories: bool, blobs: Blobs
) -> Iterator[Portion]:
    yield from collect(db, rules, preview=preview, blobs=blobs)
    if histories and not preview:
        yield from collect_histories(db)


def note(db: Database, done: Collected, actor: str, reason: str | None) -> None:
    """Write it into the audit log."""
    told = {"runs": done.runs, "by_workflow": done.by_workflow(), "histories": dict(done.histories)}
    with db.transaction() as conn:
        events.audit(conn, actor, "gc", "history", "runs", reason, told)
