"""The orchestrator as a Python object: register, start, wait, look, act.

from orchestrator import Orchestrator

orchestrator = Orchestrator.from_env()
run = orchestrator.start("order", {"amount": 5}).wait(timeout=60)
print(run.status, run.output)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from sqlalchemy import Connection

from orchestrator.bootstrap import make_engine
from orchestrator.client_packs import Packs
from orchestrator.client_schedules import Schedules
from orchestrator.config import Config
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.domain.where import read_all
from orchestrator.functions import workflow_of
from orchestrator.handle import RunHandle, id_of
from orchestrator.services import bulk as bulks
from orchestrator.services.actor import acting_user
from orchestrator.services.bulk import Bulk, Verb
from orchestrator.services.cancel import cancel
from orchestrator.services.decide import decide
from orchestrator.services.delete import delete
from orchestrator.services.documents import document_of
from orchestrator.services.engine import Engine
from orchestrator.services.hold import hold, release
from orchestrator.services.mark import mark
from orchestrator.services.pages import every
from orchestrator.services.pause import pause, resume
from orchestrator.services.pools import remove_pool, set_pool
from orchestrator.services.register import Registered, register
from orchestrator.services.register_code import register_code
from orchestrator.services.rerun import WhichRevision, rerun
from orchestrator.services.retry import retry
from orchestrator.services.signal import Signaled, signal
from orchestrator.services.start import start, start_many
from orchestrator.services.start_plain import StartOptions
from orchestrator.services.wait import read_status, wait_many
from orchestrator.store.reads import (
    RunFilters,
    get_pool,
    list_approvals,
    list_pools,
    list_runs,
)

__all__ = ["Orchestrator", "RunHandle"]

Document = Mapping[str, Any] | str | Path


class Said(TypedDict, total=False):
    """What goes with a decision. `item`: whose it is, by index, where a step asks for each item."""

    item: int | None
    comment: str | None


class Orchestrator(Packs, Schedules):
    """Workflows and runs. Safe to share between threads; make a new one after a fork."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def from_env(cls, config: Config | None = None) -> Orchestrator:
        """With the settings of the environment; raises `InvalidConfig` with all that is wrong with them.

        Function modules are not imported: they run in workers.
        """
        return cls(make_engine(config or Config.from_env(), load_functions=False))

    def close(self) -> None:
        """Send what was started last, and close the connections."""
        self.engine.starts.finish()
        self.engine.close()

    def register(
        self, document: Document | Callable[..., Any], app: str | None = None, group: str | None = None
    ) -> Registered:
        """Store a document (a map, YAML or JSON text, or the path of a file), or a function that `@workflow` has made a
        workflow, as a new revision, if it is new.

        Text without a line break is taken for a path. What is odd about a valid document is in the `warnings` of the
        result. Raises `InvalidDefinition` with all problems, `NotFound`.
        """
        if callable(document):
            spec = workflow_of(document)
            return register_code(self.engine, spec, app=app, group=group, actor=acting_user("python"))
        loaded = document_of(document, self.engine.settings.documents)
        return register(self.engine, loaded, app=app, group=group, actor=acting_user("python"))

    def start(
        self,
        name: str,
        input: Any = None,
        *,
        app: str | None = None,
        tags: Sequence[str] = (),
        idempotency_key: str | None = None,
        revision: int | None = None,
        connection: Connection | None = None,
    ) -> RunHandle:
        """Start a run of the workflow `name`. The same `idempotency_key` again gives the first run.

        With `connection` (SQLAlchemy, to the orchestrator's database) the run is part of the caller's own
        transaction: it starts when that is committed. Raises `NotFound` and `InvalidInput`.
        """
        options = StartOptions(app, tags, idempotency_key, revision, actor=acting_user("python"))
        return RunHandle(self.engine, start(self.engine, name, input, options, connection).run_id)

    def start_many(
        self,
        name: str,
        inputs: Sequence[Any],
        *,
        app: str | None = None,
        tags: Sequence[str] = (),
        revision: int | None = None,
    ) -> list[RunHandle]:
        """Start a run of the workflow `name` for each input, all of them or none; in the order of the inputs.

        Many times faster than as many calls of `start`. Raises `NotFound`, and `InvalidInput` that says which input.
        """
        options = StartOptions(app, tags, None, revision, actor=acting_user("python"))
        return [RunHandle(self.engine, one.run_id) for one in start_many(self.engine, name, inputs, options)]

    def wait_many(self, runs: Sequence[RunHandle | str], timeout: float | None = None) -> dict[str, RunStatus]:
        """Wait until all these runs have ended, whichever way; their statuses by id, in the order given.

        Raises `NotFound`, and `TimeoutError` after `timeout` seconds.
        """
        return wait_many(self.engine.db, [id_of(run) for run in runs], timeout)

    def run(self, id: str) -> RunHandle:
        """The run of this id; raises `NotFound`."""
        handle = RunHandle(self.engine, id_of(id))
        read_status(self.engine.db, handle.id)
        return handle

    def runs(
        self,
        *,
        workflow: str | None = None,
        status: RunStatus | str | Sequence[RunStatus | str] = (),
        app: str | None = None,
        tags: Sequence[str] = (),
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        error: str | None = None,
        where: Sequence[str] = (),
        roots_only: bool = False,
        schedule: str | None = None,
        page_size: int = 100,
    ) -> Iterator[dict[str, Any]]:
        """Runs for which all given holds, newest first, as `RunHandle.view` gives them; read page by page.

        `error` is a part of the error's message; `where`: values of the input (`input.customer.id=42`); `roots_only`
        leaves out runs that steps of others have started; `schedule`: started by this one. Raises `NotFound` for an
        unknown workflow, app or schedule, and `InvalidInput`.
        """
        given = (workflow, _statuses(status), app, tags, created_after, created_before, error)
        filters = RunFilters(*given, roots_only=roots_only, schedule=schedule, where=read_all(where))
        yield from every(self.engine.db, lambda conn, after: list_runs(conn, filters, after, page_size))

    def cancel(self, run: RunHandle | str, *, reason: str | None = None, force: bool = False) -> None:
        """Cancel the run; `force` cuts off what is running. Raises `NotFound` and `Conflict`."""
        cancel(self.engine, id_of(run), reason=reason, force=force, actor=acting_user("python"))

    def pause(self, run: RunHandle | str, *, reason: str | None = None) -> None:
        """Pause the run: running steps end, nothing new starts. Raises `NotFound` and `Conflict`."""
        pause(self.engine, id_of(run), reason=reason, actor=acting_user("python"))

    def resume(self, run: RunHandle | str, *, reason: str | None = None) -> None:
        """Let a paused run go on. Raises `NotFound` and `Conflict`."""
        resume(self.engine, id_of(run), reason=reason, actor=acting_user("python"))

    def retry(self, run: RunHandle | str, *, reason: str | None = None) -> int:
        """Let a failed or canceled run go on; how many steps were opened again. Raises `NotFound`, `Conflict`."""
        return retry(self.engine, id_of(run), reason=reason, actor=acting_user("python"))

    def signal(self, run: RunHandle | str, name: str, payload: Any = None) -> Signaled:
        """Send an event. Raises `NotFound`, `Conflict`, and `InvalidInput` for a payload that does not fit."""
        return signal(self.engine, id_of(run), name, payload, actor=acting_user("python"))

    def approve(
        self, run: RunHandle | str, step: str, fields: Mapping[str, Any] | None = None, **said: Unpack[Said]
    ) -> Signaled:
        """Say yes to an approval. Raises as `signal` does, and `Conflict` when it was decided before."""
        return decide(self.engine, id_of(run), step, True, fields, actor=acting_user("python"), **said)

    def reject(
        self, run: RunHandle | str, step: str, fields: Mapping[str, Any] | None = None, **said: Unpack[Said]
    ) -> Signaled:
        """Say no to an approval; see `approve`."""
        return decide(self.engine, id_of(run), step, False, fields, actor=acting_user("python"), **said)

    def approvals(self, app: str | None = None) -> Iterator[dict[str, Any]]:
        """Approvals that wait for people, oldest first, read page by page."""
        yield from every(self.engine.db, lambda conn, after: list_approvals(conn, app, after))

    def pools(self) -> list[dict[str, Any]]:
        """Every pool by name, with how many of its slots are taken and how many steps wait for one."""
        with self.engine.db.transaction() as conn:
            return list_pools(conn)

    def pool(self, name: str) -> dict[str, Any]:
        """A pool with `holders`, the steps that hold its slots; raises `NotFound`."""
        with self.engine.db.transaction() as conn:
            return get_pool(conn, name)

    def set_pool(self, name: str, slots: int, *, description: str | None = None, reason: str | None = None) -> None:
        """Make the pool, or give it another number of slots; raises `InvalidInput`."""
        set_pool(self.engine, name, slots, description=description, reason=reason, actor=acting_user("python"))

    def remove_pool(self, name: str, *, reason: str | None = None) -> None:
        """Remove the pool; raises `NotFound`, and `Conflict` while steps use it."""
        remove_pool(self.engine, name, reason=reason, actor=acting_user("python"))

    def rerun(
        self,
        run: RunHandle | str,
        *,
        input: Any = None,
        revision: WhichRevision = "same",
        from_steps: Sequence[str] | str = (),
        reason: str | None = None,
    ) -> RunHandle:
        """Start the run once more as a new run; its handle. `input` None is the same input.

        With `from_steps`, steps that do not depend on these are kept. Raises `NotFound`, `Conflict`, `InvalidInput`.
        """
        options: dict[str, Any] = {"input": input, "revision": revision, "from_steps": from_steps, "reason": reason}
        return RunHandle(self.engine, rerun(self.engine, id_of(run), actor=acting_user("python"), **options).run_id)

    def mark(
        self,
        run: RunHandle | str,
        step: str,
        status: StepStatus | str,
        *,
        output: Any = None,
        force: bool = False,
        reason: str | None = None,
    ) -> int:
        """Say how a step ended (`succeeded`, `skipped`); how many others were opened again. `force`: a running one."""
        options: dict[str, Any] = {"output": output, "force": force, "reason": reason}
        return mark(self.engine, id_of(run), step, StepStatus(status), actor=acting_user("python"), **options)

    def hold(self, run: RunHandle | str, step: str, *, reason: str | None = None) -> None:
        """Keep a step from starting until it is released. Raises `NotFound` and `Conflict`."""
        hold(self.engine, id_of(run), step, reason=reason, actor=acting_user("python"))

    def release(self, run: RunHandle | str, step: str, *, reason: str | None = None) -> None:
        """Let a held step go on. Raises `NotFound` and `Conflict`."""
        release(self.engine, id_of(run), step, reason=reason, actor=acting_user("python"))

    def delete(self, run: RunHandle | str, *, reason: str | None = None) -> None:
        """Remove a run that has ended, with the runs below it. Raises `NotFound` and `Conflict`."""
        delete(self.engine, id_of(run), reason=reason, actor=acting_user("python"))

    def bulk(
        self,
        verb: Verb | str,
        *,
        workflow: str | None = None,
        status: RunStatus | str | Sequence[RunStatus | str] = (),
        app: str | None = None,
        tags: Sequence[str] = (),
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        error: str | None = None,
        where: Sequence[str] = (),
        dry_run: bool = False,
        **options: Any,
    ) -> Bulk:
        """`cancel`, `pause`, `resume`, `retry`, `rerun` or `delete` every run `runs` would find; at least one filter.

        Without a `status`, those the verb is meant for. `options` are the verb's own. Run by run: one that refuses is
        among the `refused` and stops no other. `dry_run` only finds. Raises `NotFound` and `InvalidInput`.
        """
        given = (workflow, _statuses(status), app, tags, created_after, created_before, error)
        filters = RunFilters(*given, where=read_all(where))
        found = bulks.find(self.engine.db, Verb(verb), filters)
        if dry_run:
            return Bulk(found)
        told: dict[str, Any] = {"actor": acting_user("python"), "bulk_id": found.bulk_id}
        act = partial(bulks.ACTS[found.verb], self.engine, **told, **options)
        return Bulk(found, tuple(bulks.each(found.ids, act)))


def _statuses(status: RunStatus | str | Sequence[RunStatus | str]) -> tuple[RunStatus, ...]:
    return tuple(RunStatus(one) for one in ([status] if isinstance(status, str) else status))
