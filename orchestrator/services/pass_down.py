"""Let the runs that a run has started follow it: they are canceled, paused and resumed with it (docs/adr/0017)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Row

from orchestrator.errors import Conflict, NotFound
from orchestrator.services.cancel_one import cancel_one
from orchestrator.services.engine import Engine
from orchestrator.services.pause_one import pause_one, resume_one
from orchestrator.store import children

ACTOR = "parent run"


def pass_down(engine: Engine, run_id: str) -> frozenset[str]:
    """After a commit that changed what a run's children are to do: do it, child by child; the queues to dispatch.

    It looks at how parent and child stand, so doing it again does no harm; what a crash leaves, the coordinator does.
    """
    with engine.db.transaction() as conn:
        needs = children.find_needs(conn, run_id)
    return meet(engine, needs)


def pass_from(engine: Engine, step_id: str) -> frozenset[str]:
    """The same for the children of one step, or of one item of a step, whose attempt has come to something else than
    their ends."""
    with engine.db.transaction() as conn:
        needs = children.find_needs_of_step(conn, step_id)
    return meet(engine, needs)


def pass_to(engine: Engine, child_run_id: str) -> frozenset[str]:
    """The same for one child."""
    with engine.db.transaction() as conn:
        needs = children.find_need(conn, child_run_id)
    return meet(engine, needs)


def meet(engine: Engine, needs: Iterable[Row[Any]]) -> frozenset[str]:
    """Do what is to be done with these children, and with theirs."""
    queues: frozenset[str] = frozenset()
    for need in needs:
        try:
            queues |= _MEET[need.need](engine, need)
        except (Conflict, NotFound):  # it ended meanwhile, or somebody else was first
            continue
        queues |= pass_down(engine, need.id)
    return queues


def _cut_off(engine: Engine, need: Row[Any]) -> frozenset[str]:
    how = f"is {need.step_status}" if need.step_status not in (None, "waiting") else "no longer waits for it"
    what = f"step '{need.step}'" if need.item is None else f"item {need.item} of step '{need.step}'"
    told = f"{what} of its parent {how}" if need.step is not None else "its parent is gone"
    return cancel_one(engine, need.id, reason=told, force=True, actor=_actor(need))


def _cancel(engine: Engine, need: Row[Any]) -> frozenset[str]:
    told = _because("its parent was canceled", need.cancel_reason)
    return cancel_one(engine, need.id, reason=told, force=False, actor=_actor(need))


def _pause(engine: Engine, need: Row[Any]) -> frozenset[str]:
    told = _because("its parent is paused", need.pause_reason)
    pause_one(engine, need.id, reason=told, actor=_actor(need), with_parent=True)
    return frozenset()


def _resume(engine: Engine, need: Row[Any]) -> frozenset[str]:
    return resume_one(engine, need.id, reason="its parent was resumed", actor=_actor(need))


def _because(what: str, reason: str | None) -> str:
    """What happened, and why; once, however deep the run lies."""
    return f"{what}: {reason.removeprefix(what).removeprefix(': ')}".removesuffix(": ") if reason else what


def _actor(need: Row[Any]) -> str:
    return f"{ACTOR} {need.parent_run_id}"


_MEET: dict[str, Callable[[Engine, Row[Any]], frozenset[str]]] = {
    "cut_off": _cut_off,
    "cancel": _cancel,
    "pause": _pause,
    "resume": _resume,
}
