"""One run, as the client gives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.errors import unknown_run
from orchestrator.ids import is_id
from orchestrator.services.engine import Engine
from orchestrator.services.pages import every
from orchestrator.services.wait import read_status, wait
from orchestrator.services.why import why
from orchestrator.store.outcomes import load_run
from orchestrator.store.reads import (
    RunFilters,
    RunSecrets,
    get_item,
    get_run,
    journal_head,
    list_attempts,
    list_items,
    list_journal,
    list_runs,
    list_steps,
    load_secrets,
    run_now,
)
from orchestrator.store.reads.whole import Read


class RunHandle:
    """One run. Every property is read anew; nothing is kept but the id."""

    def __init__(self, engine: Engine, id: str) -> None:
        self._engine = engine
        self.id = id

    def __repr__(self) -> str:
        return f"RunHandle({self.id!r})"

    def wait(self, timeout: float | None = None) -> RunHandle:
        """Wait until the run has ended, whichever way; itself. Raises `TimeoutError` after `timeout` seconds."""
        wait(self._engine.db, self.id, timeout)
        return self

    @property
    def status(self) -> RunStatus:
        """A `str`: `running`, `paused`, `canceling`, `succeeded`, `failed` or `canceled`."""
        return read_status(self._engine.db, self.id)

    @property
    def output(self) -> Any:
        """What the run gave, secret fields included; None until it has succeeded.

        Raises `BlobGone` and `BlobsAway` for one in the blob store that cannot be had.
        """
        return self._engine.blobs.whole(self._end()["output"])

    @property
    def error(self) -> dict[str, Any] | None:
        """`type`, `message` and `step` of what failed the run; None when nothing did."""
        error: dict[str, Any] | None = self._end()["error"]
        return error

    def view(self) -> dict[str, Any]:
        """The run as every interface shows it (docs/cli.md), secret fields masked."""
        with self._engine.db.transaction() as conn:
            return get_run(conn, self.id)

    def steps(self, status: StepStatus | str | None = None) -> Iterator[dict[str, Any]]:
        """The run's steps in graph order, page by page, secret fields masked."""
        wanted, secrets = StepStatus(status) if status else None, self._secrets()
        yield from every(self._engine.db, lambda conn, after: list_steps(conn, self.id, wanted, after, secrets=secrets))

    def children(self) -> Iterator[RunHandle]:
        """The runs its steps have started, newest first, read page by page."""
        filters = RunFilters(children_of=self.id)
        for view in every(self._engine.db, lambda conn, after: list_runs(conn, filters, after, 100)):
            yield RunHandle(self._engine, view["id"])

    def items(self, step: str, status: StepStatus | str | None = None) -> Iterator[dict[str, Any]]:
        """The items of a step in their order, page by page, secret fields masked. Raises `NotFound` for the step."""
        wanted, secrets, db = StepStatus(status) if status else None, self._secrets(), self._engine.db
        yield from every(db, lambda conn, after: list_items(conn, self.id, step, wanted, after, secrets=secrets))

    def item(self, step: str, index: int) -> dict[str, Any]:
        """One item, by its index from 0, as `items` gives it, with `attempts`: those that have ended. Raises
        `NotFound`."""
        with self._engine.db.transaction() as conn:
            return get_item(conn, self.id, step, index) | {"attempts": list_attempts(conn, self.id, step, index)}

    def journal(self) -> Iterator[dict[str, Any]]:
        """What the function of a code-first run did, in the order of its program, page by page; nothing of a document's
        run. Secret fields masked."""
        yield from self._entries()

    def _entries(self, read: Read | None = None) -> Iterator[dict[str, Any]]:
        secrets, db = self._secrets(), self._engine.db
        yield from every(db, lambda conn, after: list_journal(conn, self.id, after, secrets=secrets, read=read))

    def history(self) -> dict[str, Any]:
        """The same with the input, as `orchestrator.testing.replay` takes it and a JSON file keeps it."""
        with self._engine.db.transaction() as conn:
            head = journal_head(conn, self.id)
        return {**head, "entries": list(self._entries(self._engine.blobs.shown))}

    def _secrets(self) -> RunSecrets:
        with self._engine.db.transaction() as conn:
            return load_secrets(conn, self.id)

    def _end(self) -> dict[str, Any]:
        with self._engine.db.transaction() as conn:
            return load_run(conn, self.id)

    def why(self, step: str, item: int | None = None) -> list[str]:
        """Why the step, or one `item` of it (by index), is not running, in sentences, the nearest cause first; raises
        `NotFound`."""
        with self._engine.db.transaction() as conn:
            plan = self._engine.plans.get(conn, run_now(conn, self.id).revision_id)
            return why(conn, plan, self.id, step, item)


def id_of(run: RunHandle | str) -> str:
    """The id of a run given as its handle or as text; raises `NotFound` for what is no id."""
    id = run.id if isinstance(run, RunHandle) else run.lower()
    if not is_id(id):
        raise unknown_run(id)
    return id
