"""Send an event to a run. It is kept until a step waits for it; each wait takes one, in the order they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row

from orchestrator.domain.build import step_of
from orchestrator.domain.event_names import is_decision, is_name, without_item
from orchestrator.domain.events import event_of, payload_problems, waits
from orchestrator.domain.graph import Plan, PlanStep
from orchestrator.domain.items import index_of, is_item
from orchestrator.domain.near import did_you_mean
from orchestrator.domain.values import storable
from orchestrator.errors import Conflict, InvalidInput, NotFound, Problem, UnstorableValue
from orchestrator.services.dispatch import dispatch
from orchestrator.services.engine import Engine
from orchestrator.store import events, runs, signals, transition


@dataclass(frozen=True, slots=True)
class Earlier:
    """A signal of the same name that came first."""

    id: int
    actor: str
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class Signaled:
    """`step`: the step that waited for it and has taken it, or whose `item` (by index) has; None: it is kept.
    `earlier`: see there."""

    id: int
    step: str | None
    earlier: Earlier | None
    item: int | None = None


def signal(engine: Engine, run_id: str, name: str, payload: Any = None, *, actor: str = "cli") -> Signaled:
    """Send the event `name`. Raises `NotFound` for a run or an event that is not there, `Conflict` for a run that is
    over, and `InvalidInput` for a payload the wait's `schema` refuses; nothing is kept then.
    """
    if is_decision(name):
        raise Conflict(f"'{name}' is an approval: it is approved or rejected")
    return send_signal(engine, run_id, name, payload, actor)


def send_signal(
    engine: Engine, run_id: str, name: str, payload: Any, actor: str, *, act: str = "signal", once: bool = False
) -> Signaled:
    """The same for every event, decisions among them.

    `act`: what the audit log calls it. `once`: `Conflict` when one came before and no step waits for another.
    """
    if not is_name(name):
        raise NotFound(f"nothing waits for an event {name!r:.80}: an event has 1 to 255 printable characters")
    sending = _Sending(engine, run_id, name, payload, _storable(engine, payload), actor, act, once)
    while (sent := sending.send()) is None:
        continue
    signaled, queues = sent
    dispatch(engine, queues)
    return signaled


@dataclass(frozen=True, slots=True)
class _Sending:
    """A signal on its way."""

    engine: Engine
    run_id: str
    name: str
    payload: Any
    payload_json: str
    actor: str
    act: str
    once: bool

    def send(self) -> tuple[Signaled, set[str]] | None:
        """Give it to who waits for it, or keep it; the queues to dispatch. None: steps were opened meanwhile that may
        wait for it and are not locked, so it is to be sent anew."""
        with self.engine.db.transaction() as conn:
            plan = self.engine.plans.get(conn, runs.load_run(conn, self.run_id).revision_id)
            begun = self._begun(conn) if plan.code else None
            may_wait = waits(plan) if begun is None else begun
            alone = [here.position for here in may_wait if here.step.with_items is None]
            fans = [here.position for here in may_wait if here.step.with_items is not None]
            taker, locked = signals.lock_waiting(conn, self.run_id, alone, fans, self.name)
            # Its row, so that of two decisions before the question, too, the second sees the first.
            facts = runs.load_run(conn, self.run_id, lock=True)
            if facts.status.terminal:
                raise Conflict(f"the run is {facts.status}: nothing in it waits for an event")
            if signals.opened_since(conn, self.run_id, alone, locked):
                return None
            return self._keep(conn, plan, begun, taker)

    def _begun(self, conn: Connection) -> Sequence[PlanStep]:
        """Of a function, which may wait for any event, the steps that it has begun that wait for this one."""
        return [_begun(row.position, row.item) for row in signals.lock_begun(conn, self.run_id, self.name)]

    def _keep(
        self, conn: Connection, plan: Plan, begun: Sequence[PlanStep] | None, taker: Row[Any] | None
    ) -> tuple[Signaled, set[str]]:
        _check_payload(_waits_for(plan, self.name) if begun is None else begun, self.payload)
        id = signals.insert_signal(conn, self.run_id, self.name, self.payload_json, self.actor)
        earlier = signals.find_earlier(conn, self.run_id, self.name, id)
        if self.once and earlier is not None and taker is None:
            raise Conflict(f"that was decided by {earlier.actor} at {earlier.sent_at:%Y-%m-%d %H:%M:%S} UTC")
        queues = _give(conn, id, taker)
        step, item = _what(plan, begun, taker)
        told = {"event": self.name, "signal": id, "step": step} | ({} if item is None else {"item": item})
        taken_by = taker.id if taker is not None else None
        events.record(conn, self.run_id, "run.signal", told | {"actor": self.actor}, taken_by)
        events.audit(conn, self.actor, self.act, "run", self.run_id, None, told)
        before = Earlier(earlier.id, earlier.actor, earlier.sent_at) if earlier else None
        return Signaled(id, step, before, item), queues


def _begun(position: int, body: Mapping[str, Any]) -> PlanStep:
    return PlanStep(position, step_of(body), (), (), {}, False)


def _what(plan: Plan, begun: Sequence[PlanStep] | None, taker: Row[Any] | None) -> tuple[str | None, int | None]:
    """The name of the step, and the index of its item."""
    if taker is None:
        return None, None
    if begun is not None:
        return next(here.name for here in begun if here.position == taker.position), None
    return plan.at(taker.position).name, index_of(taker.position) if is_item(taker.position) else None


def _storable(engine: Engine, payload: Any) -> str:
    try:
        return storable(payload, max_bytes=engine.settings.max_output_bytes)[1]
    except UnstorableValue as error:
        told = str(error).split(": ", 1)[-1]
        raise InvalidInput([Problem(error.path.replace("$", "payload", 1), told)], "the payload is invalid") from error


def _waits_for(plan: Plan, name: str) -> Sequence[PlanStep]:
    """The steps that wait for the event by name; where a template names an event, any may be meant."""
    named = [(here, event_of(here.step)) for here in waits(plan)]
    events_known, name = {event for _, event in named}, without_item(name)
    if name not in events_known and None not in events_known:
        known = sorted(known for known in events_known if known is not None and not is_decision(known))
        there = f"; it waits for {', '.join(known[:10])}" if known else ""
        raise NotFound(f"nothing in the run waits for an event '{name}'{did_you_mean(name, known) or there}")
    return [here for here, event in named if event == name]


def _check_payload(named: Sequence[PlanStep], payload: Any) -> None:
    """A payload must be right for one of the steps that wait for this name."""
    found = [payload_problems(here.step.wait_for, payload) for here in named if here.step.wait_for is not None]
    if found and all(found):
        raise InvalidInput(found[0], "the payload is invalid")


def _give(conn: Connection, signal_id: int, taker: Row[Any] | None) -> set[str]:
    if taker is None:
        return set()
    signals.give(conn, signal_id, taker.id)
    return transition.wake(conn, [taker.id])
