"""Writes docs/states.md from the transitions in orchestrator/domain/states.py: `make docs`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from orchestrator.domain.states import (
    RUN_REOPENS,
    RUN_TERMINAL,
    RUN_TRANSITIONS,
    STEP_REOPENS,
    STEP_TERMINAL,
    STEP_TRANSITIONS,
)

Status = TypeVar("Status", bound=StrEnum)

PAGE = """\
# States

Made from `orchestrator/domain/states.py` by `make docs`; a test holds this page to it.
Statuses of steps are written only by `orchestrator/store/transition.py`, for operators by
`orchestrator/store/operator_transition.py`, for the answers of Celery tasks by
`orchestrator/store/answer_transition.py`, and for many items at once by
`orchestrator/store/item_transition.py`; those of runs only by `orchestrator/store/run_transition.py`.
CHECK constraints refuse rows that contradict themselves.

## Run

{run}

A run is `running` from its start, or `pending` while `max_active_runs` of its workflow has it wait for its turn.
`paused` starts nothing new and does not end. `canceling` lasts while running steps come to their end and
lifecycle handlers run.

## Step

{step}

`ready` means the step's conditions are met: it waits for room in the dispatch window, or, with
`next_attempt_at`, for its next attempt. `queued` means a message was sent; `running` that a worker holds its lease.
A `pass` step goes from `pending` to `succeeded` at once. Steps of kind `function` and `pass` are never `waiting`,
but for those with `with_items`: they wait for their items. An item moves as a step does; it is `pending` until its turn
has come.
Whatever state a step is in, an operator's mark may make it `succeeded` or `skipped` (reason `marked`), except one that
has succeeded; a running one is cut off for it. What did not run because of it is opened again, as by a retry.

Retries and marks are in the audit log. A retry opens the failed, canceled and upstream-failed steps, the skipped ones
that depend on them, and of a step's items the failed and canceled ones; a lifecycle handler is opened again when the
retried run ends again.
"""


def page() -> str:
    """The whole page."""
    run = _diagram(RUN_TRANSITIONS, RUN_TERMINAL), _reopened(RUN_REOPENS)
    step = _diagram(STEP_TRANSITIONS, STEP_TERMINAL), _reopened(STEP_REOPENS)
    return PAGE.format(run="\n\n".join(run), step="\n\n".join(step))


def _diagram(moves: Mapping[Status, Collection[Status]], terminal: Collection[Status]) -> str:
    lines = [f"[*] --> {next(iter(moves))}"]
    lines += [f"{source} --> {target}" for source in moves for target in sorted(moves[source])]
    lines += [f"{status} --> [*]" for status in moves if status in terminal]
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"])


def _reopened(moves: Mapping[Status, Collection[Status]]) -> str:
    """The moves out of terminal states, in words."""
    sources = ", ".join(f"`{source}`" for source in sorted(moves))
    targets = " or ".join(f"`{target}`" for target in sorted({t for ts in moves.values() for t in ts}))
    return f"Opened again by an operator's retry or mark, and by nothing else:\n{sources} to {targets}."


if __name__ == "__main__":
    Path(__file__).with_name("states.md").write_text(page())
