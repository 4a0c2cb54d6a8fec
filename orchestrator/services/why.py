"""Why a step is not running: what it waits for, and what that waits for, in sentences for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from orchestrator.domain.graph import Plan
from orchestrator.domain.states import RunStatus, StepStatus
from orchestrator.domain.times import duration
from orchestrator.domain.words import reason_in_words, sentence, waits_for
from orchestrator.services.plans import Plans
from orchestrator.store.reads import (
    RunNow,
    StepBrief,
    first_open,
    get_brief,
    get_item_brief,
    get_pool,
    hindrance,
    item_name,
    list_workers,
    load_secrets,
    run_app,
    run_now,
)
from orchestrator.store.reads.brief import open_steps
from orchestrator.store.reads.secrets import RunSecrets

_NAMED = 3  # how many of several are told by name
_COUNTED = 1000  # how many steps ahead in a queue are counted
_ALL_QUEUES = "*"
_S = StepStatus


def why(
    conn: Connection, plan: Plan, run_id: str, name: str, item: int | None = None, *, one_app: bool = False
) -> list[str]:
    """Sentences about a step, or one `item` of it (by index), the nearest cause first, without the run's secrets.

    `one_app`: who asks is of the run's app alone, and is not told the names of what other apps run. Raises `NotFound`
    naming a near step.
    """
    asked = _Asked.of(conn, plan, run_id, one_app)
    step = get_brief(conn, run_id, name)
    if item is not None and _is_coming(plan, step, item):
        told, over = [f"'{item_name(name, item)}' is not there yet.", *asked.step_says(step)], step.status.terminal
    elif item is not None:
        brief = get_item_brief(conn, run_id, name, item)
        told, over = list(asked.item_says(step, brief)), brief.status.terminal
    else:
        told, over = list(asked.step_says(step)), step.status.terminal
    return list(map(asked.secrets.show, told if over else [*told, *asked.run_says()]))


def _is_coming(plan: Plan, step: StepBrief, item: int) -> bool:
    """Whether the step may have this item, and has no row for it yet."""
    if step.status.terminal or plan.at(step.position).step.with_items is None:
        return False
    return step.items_total is None or (step.items_made or 0) <= item < step.items_total


@dataclass(frozen=True, slots=True)
class _Asked:
    conn: Connection
    plan: Plan
    run: RunNow
    steps: Mapping[int, Any]  # those that are open
    secrets: RunSecrets
    one_app: bool

    @classmethod
    def of(cls, conn: Connection, plan: Plan, run_id: str, one_app: bool) -> _Asked:
        secrets = load_secrets(conn, run_id)
        return cls(conn, plan, run_now(conn, run_id), open_steps(conn, run_id), secrets, one_app)

    def _named(self, run_id: str, words: str, others: str = "a step of another app") -> str:
        """The words about a run that may be of another app."""
        hidden = self.one_app and run_app(self.conn, run_id) != self.run.app
        return others if hidden else words

    # The run.

    def run_says(self) -> Iterator[str]:
        run = self.run
        if run.status is RunStatus.PAUSED:
            by = hindrance.who_did(self.conn, run.id, "run.paused")
            yield (
                f"The run is paused{_by(by)}{_because(run.pause_reason)}: nothing of it starts"
                f" (orchestrator resume {run.id})."
            )
        elif run.status is RunStatus.PENDING:
            ahead = hindrance.active_before(self.conn, run.id, _NAMED + 1)
            named = ", ".join(self._named(id, id, "a run of another app") for id in ahead[:_NAMED])
            named += " and more" if len(ahead) > _NAMED else ""
            yield f"The run waits for its turn under max_active_runs: {named} are active before it."
        elif run.status is RunStatus.CANCELING:
            by = hindrance.who_did(self.conn, run.id, "run.cancel")
            yield f"The run is being canceled{_by(by)}{_because(run.cancel_reason)}: what runs comes to its end."
        elif run.closing is not None:
            yield f"The run is ending as {run.closing}; what is left are its compensations and handlers."

    # An item, and the step.

    def item_says(self, step: StepBrief, item: StepBrief) -> Iterator[str]:
        """Of an item: one whose turn has not come waits for others, or for its step to begin."""
        if item.status is not _S.PENDING:
            yield from self.step_says(item)
            return
        asked = self.plan.named(step.name).step.with_items
        if step.status is _S.WAITING and asked is not None and asked.concurrency is not None:
            most = f"{asked.concurrency} items of '{step.name}' are under way at a time"
            yield f"'{item.name}' waits for its turn: {most}."
        else:
            yield f"'{item.name}' waits for its step to begin."
        yield from self.step_says(step)

    def step_says(self, step: StepBrief) -> Iterator[str]:
        if step.held_at is not None and not step.status.terminal:
            yield (
                f"'{step.name}' is held{_by(step.held_by)} since {self._ago(step.held_at)}{_because(step.hold_reason)}"
                f" (orchestrator release {self.run.id} '{step.name}')."
            )
        match step.status:
            case _S.PENDING:
                yield from self._pending(step)
            case _S.READY:
                yield from self._ready(step)
            case _S.QUEUED:
                yield f"'{step.name}' was sent to queue '{step.queue}'; the first worker that is free takes it."
                yield from self._queue(step)
            case _S.RUNNING:
                yield from self._running(step)
            case _S.WAITING:
                yield sentence(f"'{step.name}' {waits_for(step.wait or {}, self.run.now, step.child)}")
                if step.child is not None:
                    yield from self._below(step.child["run_id"])
                elif self.plan.code and step.position == 0:
                    yield from self._first_begun((step.wait or {}).get("steps", ()))
                elif step.items_total is not None:
                    yield from self._first_item(step)
            case _:
                yield self._ended(step)

    def _first_begun(self, awaited: Sequence[str]) -> Iterator[str]:
        """Why the first step that the function waits for has not ended, else the first that it has begun."""
        open = [step for position, step in sorted(self.steps.items()) if position > 0]
        first = next((step for step in open if step.name in awaited), open[0] if open else None)
        if first is not None:
            yield from self.step_says(get_brief(self.conn, self.run.id, first.name))

    def _first_item(self, step: StepBrief) -> Iterator[str]:
        """Why the first item that has not ended has not."""
        index = first_open(self.conn, self.run.id, step.name)
        if index is not None:
            yield from self.step_says(get_item_brief(self.conn, self.run.id, step.name, index))

    def _below(self, run_id: str) -> Iterator[str]:
        """Why its child has not ended."""
        run = run_now(self.conn, run_id)
        if run.status.terminal:
            return
        plan = Plans().get(self.conn, run.revision_id)
        asked = _Asked.of(self.conn, plan, run_id, self.one_app)
        yield from map(asked.secrets.show, asked.run_says())
        first = asked._beginning(list(asked.steps.values()))
        if first is not None:
            yield from map(asked.secrets.show, asked.step_says(first))

    def _ended(self, step: StepBrief) -> str:
        reason = f": {reason_in_words(step.reason)}" if step.reason else ""
        error = f" ({step.error_type}: {step.error_message})" if step.error_type else ""
        return f"'{step.name}' has ended: it is {step.status}{reason}{error}."

    def _running(self, step: StepBrief) -> Iterator[str]:
        yield f"'{step.name}' is running, on {step.worker}{self._since(step.started_at)}."
        if step.cancel_requested:
            yield "It was asked to stop, and goes on until its function returns or looks at `ctx.canceled`."

    def _pending(self, step: StepBrief) -> Iterator[str]:
        """Its open sources, and what is at the beginning of the chain."""
        if self.plan.is_begun(step.position):
            yield f"'{step.name}' waits for its turn: the function has others of its kind done before it."
        sources = self._open_sources(step.position)
        for source in sources[:_NAMED]:
            yield f"'{step.name}' waits for '{source.name}', which is {source.status}{self._since(source.started_at)}."
        if len(sources) > _NAMED:
            yield f"It waits for {len(sources) - _NAMED} more steps."
        first = self._beginning(sources)
        if first is not None:
            yield from self.step_says(first)

    def _open_sources(self, position: int) -> list[Any]:
        if position >= len(self.plan.steps):
            return []
        return [self.steps[source] for source in self.plan.at(position).sources if source in self.steps]

    def _beginning(self, sources: Sequence[Any]) -> StepBrief | None:
        """Of all that is open above, the first step whose own sources have ended."""
        seen, todo = set[int](), [source.position for source in sources]
        while todo:
            position = todo.pop(0)
            above = self._open_sources(position)
            if not above:
                return get_brief(self.conn, self.run.id, self.steps[position].name)
            todo += [source.position for source in above if source.position not in seen]
            seen.update(source.position for source in above)
        return None

    def _ready(self, step: StepBrief) -> Iterator[str]:
        if step.next_attempt_at is not None:
            left = max(0.0, (step.next_attempt_at - self.run.now).total_seconds())
            last = f"; the last attempt: {step.error_type}: {step.error_message}" if step.error_type else ""
            yield f"'{step.name}' is retried in {duration(left)}{last}."
            return
        if self.run.status is RunStatus.PAUSED or step.held_at is not None:
            return
        if step.pool is not None:
            yield self._pool(step)
            return
        ahead = hindrance.count_ahead(self.conn, self.run.id, step.position, _COUNTED)
        yield f"'{step.name}' is ready; {_ahead(ahead)} before it in queue '{step.queue}'."
        yield from self._queue(step)

    def _pool(self, step: StepBrief) -> str:
        pool = get_pool(self.conn, step.pool or "", _NAMED)
        if step.slots > pool["slots"]:
            has = "is closed" if pool["slots"] == 0 else f"has {pool['slots']} now"
            grow = f"it waits until the pool is made larger (orchestrator pools '{pool['name']}' --slots N)"
            return f"'{step.name}' takes {step.slots} slots of pool '{pool['name']}', which {has}: {grow}."
        holders = [self._named(held["run_id"], f"'{held['step']}' of run {held['run_id']}") for held in pool["holders"]]
        held = f", held by {', '.join(holders)}" if holders else ""
        more = " and more" if pool["taken"] > len(holders) >= _NAMED else ""
        full = f"{pool['taken']} of its {pool['slots']} slots are taken"
        return f"'{step.name}' waits for slots of pool '{pool['name']}': {full}{held}{more}."

    def _queue(self, step: StepBrief) -> Iterator[str]:
        """Whether anybody takes steps from its queue."""
        alive = [w for w in list_workers(self.conn) if w["status"] == "alive"]
        serving = [w for w in alive if w["kind"] == "worker" and not {step.queue, _ALL_QUEUES}.isdisjoint(w["queues"])]
        if not serving:
            yield f"No worker listens to queue '{step.queue}' (orchestrator worker --queues '{step.queue}')."
            return
        slots, busy = (sum(worker[key] for worker in serving) for key in ("concurrency", "running"))
        if busy >= slots:
            longest = hindrance.longest_running(self.conn, [worker["id"] for worker in serving], _NAMED)
            at = [(self._named(str(row.run_id), f"'{row.name}'"), row.since.total_seconds()) for row in longest]
            told = ", ".join(f"{name} for {duration(seconds)}" for name, seconds in at)
            yield f"All {slots} slots of the queue's workers are busy: {told}."
        if not any(worker["kind"] == "beat" for worker in alive):
            yield "No coordinator is alive, so lost messages are not sent again (orchestrator beat)."

    def _since(self, at: datetime | None) -> str:
        return f" for {duration((self.run.now - at).total_seconds())}" if at is not None else ""

    def _ago(self, at: datetime) -> str:
        return f"{duration((self.run.now - at).total_seconds())} ago"


def _by(actor: str | None) -> str:
    return f" by {actor}" if actor else ""


def _because(reason: str | None) -> str:
    return f" because {reason}" if reason else ""


def _ahead(count: int) -> str:
    if count == 0:
        return "no step goes"
    return f"{count:,} steps go" if count < _COUNTED else f"{_COUNTED:,} steps or more go"
