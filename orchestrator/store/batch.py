"""A batch of steps in one statement and one transaction: the verbs of the hot path.

Each is a function in the database (migrations/versions/0002_batches.py), whose statements are planned once a session;
its moves of a step's status are those of transition.py, fenced in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from orchestrator.ids import new_ids
from orchestrator.store.db import Call, Database
from orchestrator.store.faults import sqlstate
from orchestrator.store.logs import LogLine
from orchestrator.store.transition import Lease, Queued, as_text
from orchestrator.store.workflows import Found, Wanted

_NOT_PLAIN = "OR001"  # SQLSTATE raised by orchestrator_settle


class Taken(NamedTuple):
    """A claimed step; `run_input`: JSON text of its run's input, `item`: of what an item is; None for large ones.

    `waited`: seconds from ready to sent, or to claimed for one that was not sent; `fetched`: from sent to claimed.
    """

    id: str
    claim_token: str
    run_id: str
    revision_id: str
    position: int
    attempt: int
    queue: str
    run_input: str | None
    item: str | None
    waited: float | None = 0.0
    fetched: float | None = 0.0


class StepNow(NamedTuple):
    """A step as templates see it."""

    name: str
    status: str
    output: Any
    error: Any
    attempt: int
    items: Any


@dataclass(frozen=True, slots=True)
class Success:
    """An attempt that succeeded and whose success is plain (docs/adr/0014).

    `dependants` are (position, queue) pairs; `took` and `ago` are seconds: how long the call was, and since when
    it is over. `owner`: the position of an item's step.
    """

    step_id: str
    token: str
    run_id: str
    position: int
    dependants: Sequence[tuple[int, str]]
    output_json: str
    input_json: str | None
    took: float
    ago: float
    lines: Sequence[LogLine] = ()
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """What a worker goes on with: at most `room` steps of `queue`, of `functions` known to be short.

    `anything`: it has nothing in hand, and takes one step of any other function if there is none of these.
    As it settles, it takes what that made ready, and then, with `look` or with nothing in hand, at most `more` others.
    """

    lease: Lease
    queue: str
    room: int
    functions: Sequence[str] = ()
    anything: bool = True
    more: int = 1
    look: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """What settling led to: steps claimed for the worker, queues with ready steps, ids of attempts it did not settle.

    `continued`: it made them ready; `taken`: they were. `hard`: it does not end plainly, and is still held; `stale`:
    its claim no longer holds. `children_over`: runs that have ended, and whose parents wait for that. `looked`: who was
    to be left with nothing got what its queue had.
    """

    continued: tuple[Taken, ...] = ()
    taken: tuple[Taken, ...] = ()
    queues: frozenset[str] = frozenset()
    hard: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()
    children_over: frozenset[str] = frozenset()
    looked: bool = False


class NotPlain(Exception):
    """A run of the batch does not end plainly; nothing was stored."""


_SETTLE = """
SELECT kind, id, claim_token, run_id, revision_id, "position", attempt, queue, input, item, waited
FROM orchestrator_settle({})
""".format(", ".join(["%s"] * 27))


def settle_plain(db: Database, done: Sequence[Success], take: Take | None, output_limit: int) -> Batch:
    """running -> succeeded for all of them, with what follows; raises `NotPlain` and `Unreachable`.

    `output_limit` bounds a run's output, in bytes.
    """
    if len(done) == 1 and (linked := _settle_link(db, done[0], take)) is not None:
        return linked
    columns = [
        _array(d.step_id for d in done),
        _array(d.token for d in done),
        _array(d.run_id for d in done),
        _array(d.position for d in done),
        _array("NULL" if d.owner is None else d.owner for d in done),
        _array(not d.dependants and d.owner is None for d in done),
        _texts(d.output_json for d in done),
        _texts(d.input_json for d in done),
        _array(d.took for d in done),
        _array(d.ago for d in done),
        _array(i for i, d in enumerate(done, 1) for _ in d.dependants),
        _array(position for d in done for position, _ in d.dependants),
        _texts(queue for d in done for _, queue in d.dependants),
        _array(i for i, d in enumerate(done, 1) for _ in d.lines),
        *(_texts(str(getattr(line, name)) for d in done for line in d.lines) for name in LogLine.__slots__),
    ]
    try:
        return _batch(db.call(_SETTLE, [*columns, *_wanted(take), output_limit]))
    except Exception as error:
        if sqlstate(error) == _NOT_PLAIN:
            raise NotPlain from error
        raise


_LINK = """
SELECT kind, id, claim_token, run_id, revision_id, "position", attempt, queue, input, item, waited
FROM orchestrator_settle_link({})
""".format(", ".join(["%s"] * 17))


def _settle_link(db: Database, done: Success, take: Take | None) -> Batch | None:
    """Settle an attempt with one dependant; None, and nothing is stored, for another or when that is not plain."""
    if len(done.dependants) != 1 or done.lines or done.owner is not None:
        return None
    own = [done.step_id, done.token, done.run_id, done.output_json, done.input_json, done.took, done.ago]
    try:
        return _batch(db.call(_LINK, [*own, *done.dependants[0], *_wanted(take)]))
    except Exception as error:
        if sqlstate(error) == _NOT_PLAIN:
            return None
        raise


# Arrays go as their text: the server reads that many times faster than an expression for each element.


def _array(values: Iterable[Any]) -> str:
    """An array of ids, numbers or truth values."""
    return "{" + ",".join(map(str, values)) + "}"


def _texts(values: Iterable[str | None]) -> str:
    return "{" + ",".join("NULL" if v is None else f'"{_escaped(v)}"' for v in values) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _wanted(take: Take | None) -> list[Any]:
    if take is None:
        return ["", 0.0, 0, "", "{}", False, 0, False]
    functions = _texts(take.functions)
    lease = take.lease
    return [lease.worker_id, lease.seconds, take.room, take.queue, functions, take.anything, take.more, take.look]


def _batch(rows: Iterable[Sequence[Any]]) -> Batch:
    kinds = ("continued", "taken", "ready", "pending", "hard", "stale", "child_over")
    told: dict[str, list[Sequence[Any]]] = {kind: [] for kind in kinds}
    for kind, *row in rows:
        told[kind].append(row)
    return Batch(
        continued=tuple(Taken(*row) for row in told["continued"]),
        taken=tuple(Taken(*row) for row in told["taken"]),
        queues=frozenset(row[6] for row in told["ready"]),
        hard=frozenset(row[0] for row in told["hard"]),
        stale=frozenset(row[0] for row in told["stale"]),
        children_over=frozenset(row[0] for row in told["child_over"]),
        looked=not told["stale"],
    )


_ROW = 'id, claim_token, run_id, revision_id, "position", attempt, queue, input, item, waited'


def claim(db: Database, queued: Sequence[Queued], lease: Lease) -> list[Taken]:
    """queued -> running for those whose token still holds and whose run may start steps, in the order given."""
    ids = [q.step_id for q in queued]
    rows = db.call(
        f"SELECT {_ROW}, fetched FROM orchestrator_claim(%s, %s, %s, %s)",
        [_array(ids), _array(q.token for q in queued), lease.worker_id, lease.seconds],
    )
    return sorted((Taken(*row) for row in rows), key=lambda taken: ids.index(taken.id))


def take(db: Database, wanted: Take) -> list[Taken]:
    """ready -> running for the best of a queue: highest priority and longest ready first."""
    rows = db.call(
        f"SELECT {_ROW} FROM orchestrator_take(%s, %s, %s, %s, %s, %s)",
        [
            wanted.queue,
            wanted.lease.worker_id,
            wanted.lease.seconds,
            wanted.room,
            _texts(wanted.functions),
            not wanted.anything,
        ],
    )
    return [Taken(*row) for row in rows]


def view(db: Database, run_id: str, positions: Sequence[int]) -> tuple[dict[str, Any], list[StepNow]]:
    """The run's variables, and how the steps at `positions` stand; `LookupError` when there is no such run."""
    rows = db.call(
        "SELECT name, status, output, error, attempt, items FROM orchestrator_view(%s, %s)", [run_id, _array(positions)]
    )
    found: dict[str, Any] = rows[0][2]
    return found, [StepNow(*row) for row in rows[1:]]


def input_of(db: Database, run_id: str) -> Any:
    """A run's input; null for a run that is no longer there."""
    rows = db.call("SELECT input FROM workflow_runs WHERE id = %s", [run_id])
    return rows[0][0] if rows else None


def item_of(db: Database, step_id: str) -> str:
    """The JSON text of what an item is; of one that is no longer there, null."""
    rows = db.call("SELECT CAST(item AS text) FROM workflow_run_steps WHERE id = %s", [step_id])
    return str(rows[0][0]) if rows else "null"


def queue_ready(db: Database, queue: str, most: int, patience: float = 0.0) -> tuple[dict[str, list[Queued]], bool]:
    """ready -> queued: the best ready steps of a queue, as long as fewer than `most` are queued; by queue.

    With `patience` those that have been ready for as many seconds; and whether that left any. Also those of the pools
    that steps of this queue wait for, whatever their queues.
    """
    queued: dict[str, list[Queued]] = {}
    rows = db.call("SELECT id, claim_token, queue FROM orchestrator_queue(%s, %s, %s)", [queue, most, patience])
    for id, token, name in rows:
        if id is not None:
            queued.setdefault(name, []).append(Queued(id, token))
    return queued, any(id is None for id, _, _ in rows)


def release(db: Database, held: Sequence[tuple[str, str]]) -> frozenset[str]:
    """running -> ready for (step id, token) pairs that were claimed and never begun; the queues concerned."""
    rows = db.call(
        "SELECT queue FROM orchestrator_release(%s, %s)", [_array(h[0] for h in held), _array(h[1] for h in held)]
    )
    return frozenset(row[0] for row in rows)


@dataclass(frozen=True, slots=True)
class NewSteps:
    """The steps every fresh run of a revision has, as array texts by column."""

    count: int
    columns: tuple[str, ...]


def new_steps(rows: Sequence[tuple[str, str | None, bool, str | None, int, int, int | None]]) -> NewSteps:
    """Of (name, function, leaf, queue, priority, sources, max_attempts) by position.

    Only first steps have a queue, and those without one go to the queue that is announced for their function.
    """
    names, functions, leaves, queues, priorities, sources, most = zip(*rows, strict=True)
    numbers = (_array(priorities), _array(sources), _array("NULL" if m is None else m for m in most))
    columns = (_texts(names), _texts(functions), _array(leaves), _texts(queues), *numbers)
    return NewSteps(len(rows), columns)


@dataclass(frozen=True, slots=True)
class NewRuns:
    """Runs to be made that differ in their input only: `inputs` maps their ids to its JSON text.

    `timeout` in seconds. With an `idempotency_key` there is one run. `told`: what the first event of each says.
    """

    inputs: Mapping[str, str]
    wanted: Wanted
    found: Found
    tags: Sequence[str]
    idempotency_key: str | None
    timeout: float | None
    told: Mapping[str, str]


def start_runs(call: Call, runs: NewRuns, steps: NewSteps) -> frozenset[str] | None:
    """Insert the runs with their steps; the queues with steps of theirs to run.

    None, and no run is made, when `wanted` finds something else than `found`, or the key is taken.
    """
    rows = call(
        "SELECT id, ready FROM orchestrator_start"
        "(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            *runs.wanted,
            _array(runs.inputs),
            _texts(runs.inputs.values()),
            runs.found.workflow_id,
            runs.found.revision_id,
            runs.found.app_id,
            _texts(runs.tags),
            runs.idempotency_key,
            runs.timeout,
            as_text(runs.told),
            _array(new_ids(len(runs.inputs) * steps.count)),
            *steps.columns,
        ],
    )
    return frozenset(queue for _, queue in rows if queue) if rows else None
