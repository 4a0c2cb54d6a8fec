"""What `orchestrator db check` finds, in words: what is wrong, and what an operator does about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COORDINATOR = "see that a coordinator runs and is not behind (`orchestrator workers`, and what beat logs)"
_FAULT = "this is a fault of the engine: keep a dump of the database and report it"
_CANCEL = f"{_FAULT}; `orchestrator cancel {{run}} --force` ends the run, `orchestrator rerun {{run}}` runs it anew"
_MARK = f"{_FAULT}; `orchestrator mark {{run}} '{{step}}' succeeded --output JSON` lets the run go on"


@dataclass(frozen=True, slots=True)
class Words:
    """A kind of finding; both are templates over its facts."""

    what: str
    todo: str


KINDS: dict[str, Words] = {
    # Of steps and items.
    "open_in_ended_run": Words("it is {status}, and its run is {run_status}", _FAULT),
    "not_decided": Words("all steps before it have ended, and whether it runs was not decided", _MARK),
    "item_of_ended_step": Words("it is pending, and its step has ended", _CANCEL),
    "item_not_begun": Words("it is pending although its step lets more items begin", _CANCEL),
    "held_by_nobody": Words("it is running, and no worker holds it", _CANCEL),
    "event_not_taken": Words("event '{event}' has come, and it still waits for it", _MARK),
    "child_gone": Words("it waits for run {child}, which is not there any more", _MARK),
    "child_will_not_tell": Words("it waits for run {child}, which does not know of it", _MARK),
    "items_have_ended": Words("it waits for its items, which have all ended", _MARK),
    "items_not_made": Words("it waits for its items, some of which were not made", _MARK),
    "never_woken": Words("it waits, and nothing says until when", _MARK),
    "history_incomplete": Words("its attempts are {attempt}, and not as many are in its history", _FAULT),
    "items_miscounted": Words("its items were counted as {kept}, and are {counted}", _CANCEL),
    "items_stand_still": Words("none of its {open} open items is under way", _CANCEL),
    "calls_have_ended": Words("its function waits for steps, which have all ended", _CANCEL),
    "calls_miscounted": Words("its function has begun {open} steps that are open, and {kept} were counted", _CANCEL),
    "calls_stand_still": Words("none of the {open} open steps that its function has begun is under way", _CANCEL),
    "sources_miscounted": Words("the ends of the steps before it were counted as {kept}, and are {counted}", _CANCEL),
    "retry_overdue": Words("its next attempt is due, and it was not made ready", _COORDINATOR),
    "wake_overdue": Words("it has waited for as long as it was to, and was not woken", _COORDINATOR),
    "lease_overdue": Words("its worker fell silent, and it was not taken back", _COORDINATOR),
    "timeout_overdue": Words("it is past its timeout, and was not ended", _COORDINATOR),
    "total_timeout_overdue": Words("it is past its total_timeout, and was not ended", _COORDINATOR),
    "sent_while_paused": Words("it was sent to queue '{queue}', and its run is paused", _COORDINATOR),
    "items_not_stopped": Words("its items are to be stopped, and were not", _COORDINATOR),
    "not_sent": Words("it is ready, nothing of queue '{queue}' is under way, and it was not sent", _COORDINATOR),
    "pool_missing": Words(
        "it waits for slots of pool '{pool}', which does not exist", "make it: `orchestrator pools '{pool}' --slots N`"
    ),
    "pool_too_small": Words(
        "it takes more slots than pool '{pool}' has", "make it larger: `orchestrator pools '{pool}' --slots N`"
    ),
    # Of runs.
    "never_begins": Words("it is pending, and waits for no turn", _CANCEL),
    "not_ended": Words("nothing of it is open, and it has not ended", _CANCEL),
    "steps_missing": Words("not all of its steps have rows", _CANCEL),
    "halt_not_carried_out": Words("its steps are to be stopped ({halting}), and were not", _COORDINATOR),
    "turn_not_given": Words("it is its turn under max_active_runs, and it was not begun", _COORDINATOR),
    "deadline_overdue": Words("it is past its deadline, and was not ended", _COORDINATOR),
    "end_not_told": Words("it has ended, and the step that waits for it was not told", _COORDINATOR),
    "child_not_followed": Words("by the state of its parent it is to be stopped, paused or resumed", _COORDINATOR),
    # Of schedules.
    "schedule_never_due": Words(
        "schedule '{schedule}' of app {app} has a next fire time, and no coordinator will look at it",
        f"{_FAULT}; `orchestrator schedule pause '{{schedule}}'` and `resume` set it going",
    ),
    "schedule_overdue": Words(
        "schedule '{schedule}' of app {app} is due since {fire_at}, and did not fire", _COORDINATOR
    ),
    "fire_not_followed": Words(
        "the run of schedule '{schedule}' of app {app} at {fire_at} has ended, and that was not noted", _COORDINATOR
    ),
    "fire_not_begun": Words(
        "the run of schedule '{schedule}' of app {app} at {fire_at} waits its turn, none is open, and it was not begun",
        _COORDINATOR,
    ),
    "blob_missing": Words(
        "its {what} is blob {path}, which is not in the blob store as it was put there",
        "bring it back from a copy of the store; else `orchestrator rerun {run}` makes it anew",
    ),
    # Of the whole.
    "pool_over": Words(
        "{taken} slots of pool '{pool}' are taken, and it has {slots}", f"{_FAULT}; it goes back as steps end"
    ),
    "no_worker": Words(
        "no worker takes steps from queue '{queue}' ({steps} sent)",
        "start one: `orchestrator worker` with the queue in ORCHESTRATOR_QUEUES",
    ),
    "no_coordinator": Words(
        "no coordinator was heard of: retries, timers and lost work wait", "start one: `orchestrator beat`"
    ),
}


def told(kind: str, facts: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong, and what to do; raises `KeyError` for a fact that is missing."""
    words = KINDS[kind]
    return words.what.format_map(facts), words.todo.format_map(facts)
