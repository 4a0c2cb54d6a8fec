"""Plain Celery tasks as functions of steps: their names, and the messages by which they answer.

A task's message carries two callbacks, which any Celery worker sends on when the task has ended: they are the way back
and need neither a result backend nor this package there (docs/celery.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PREFIX = "celery:"
FOREIGN_QUEUE = "celery"  # where a Celery app that says nothing else takes its tasks from
STEPS = "orchestrator.celery"  # the queue of the steps that call such tasks: every worker of ours serves it
ANSWERS = "orchestrator.answers"  # the queue of what comes back

# Names of messages, which are those of Celery tasks.
RESULT = "orchestrator.celery_result"
ERROR = "orchestrator.celery_error"  # from a worker that knows nothing of us: the task's id, and no more
FAILURE = "orchestrator.celery_failure"  # from one with `orchestrator.install`: the error
TASKS = "orchestrator.celery_tasks"  # the tasks such a worker has

UNTOLD = "CeleryTaskFailed"
_UNTOLD = "the Celery task failed; its worker does not say why (docs/celery.md: What comes back), its log does"


def is_celery_task(function: str | None) -> bool:
    """Whether a step's `function` names a plain Celery task."""
    return function is not None and function.startswith(PREFIX)


def task_name(function: str) -> str:
    """The task that `celery:<task name>` means."""
    return function.removeprefix(PREFIX)


def callbacks(step_id: str, token: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the task's worker is to send when the task has succeeded, and when it has failed for good."""
    return [_signature(RESULT, step_id, token)], [_signature(ERROR, step_id, token)]


def _signature(name: str, *args: str) -> dict[str, Any]:
    """A Celery signature, of the form all its versions since 4.0 have. What the task gives goes before `args`."""
    return {
        "task": name,
        "args": list(args),
        "kwargs": {},
        "options": sending(),
        "subtask_type": None,
        "immutable": False,
    }


def sending() -> dict[str, Any]:
    """Celery's options for a message to us. Its app may pickle, or give its own messages another priority."""
    return {"queue": ANSWERS, "serializer": "json", "priority": 0, "ignore_result": True}


@dataclass(frozen=True, slots=True)
class Answer:
    """How the task called by an attempt has ended. `error`: `type`, `message`, and `traceback` and `classes` if known.

    `task_id` is set when the worker did not say why the task failed.
    """

    step_id: str
    token: str
    result: Any = None
    error: Mapping[str, Any] | None = None
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class Announced:
    """Tasks of a worker: maps of `name`, `queue` and `description`."""

    tasks: tuple[Mapping[str, Any], ...]


def read_message(name: str, args: Sequence[Any]) -> Answer | Announced:
    """A message of the queue `ANSWERS`; raises `ValueError` for what is none."""
    if name == TASKS and len(args) == 1 and isinstance(args[0], list):
        return Announced(tuple(_task(task) for task in args[0]))
    if name not in (RESULT, ERROR, FAILURE) or len(args) != 3 or not all(isinstance(arg, str) for arg in args[1:]):
        raise ValueError(f"not an answer: {name} with {len(args)} arguments")
    told, step_id, token = args
    if name == RESULT:
        return Answer(step_id, token, result=told)
    if name == ERROR:
        return Answer(step_id, token, error={"type": UNTOLD, "message": _UNTOLD}, task_id=str(told))
    return Answer(step_id, token, error=_error(told))


def _task(task: Any) -> Mapping[str, Any]:
    if not isinstance(task, dict) or not isinstance(task.get("name"), str):
        raise ValueError("a task without a name")
    return {key: str(task[key]) if task.get(key) is not None else None for key in ("name", "queue", "description")}


def _error(told: Any) -> Mapping[str, Any]:
    if not isinstance(told, dict):
        raise ValueError("an error that is no map")
    shown: dict[str, Any] = {"type": str(told.get("type") or UNTOLD), "message": str(told.get("message") or "")}
    if told.get("traceback"):
        shown["traceback"] = str(told["traceback"])
    return shown | {"classes": [str(name) for name in told.get("classes") or ()]}
