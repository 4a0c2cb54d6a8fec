"""`orchestrator.install(celery_app)`: the one line in a Celery project whose tasks are called by steps.

Such tasks need none of this to be called. With it their worker says why a task failed, and what tasks it has. All it
needs is the broker that it is connected to.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Mapping
from typing import Any

from celery import Celery, signals
from kombu.utils.uuid import uuid

from orchestrator.domain.celery_task import ERROR, FAILURE, TASKS, sending
from orchestrator.domain.describe import clean_text, describe_exception

log = logging.getLogger("orchestrator.install")
_OURS = ("celery.", "orchestrator.")  # beginnings of names that are nobody's tasks
_TRACEBACK = 20_000
_INSTALLED: weakref.WeakSet[Celery] = weakref.WeakSet()


def install(app: Celery) -> Celery:
    """Let the workers of a Celery project tell the orchestrator why a task failed, and which tasks they have.

    Call it where the app is made; gives the app back. It reads no setting, opens no connection of its own and
    changes nothing about tasks that no step has called.
    """
    if app in _INSTALLED:
        return app
    _INSTALLED.add(app)

    @app.task(name=ERROR, ignore_result=True, shared=False)
    def celery_error(request: Any, exc: BaseException, traceback: Any, step_id: str, token: str) -> None:
        """Called by Celery in the process in which a step's task has failed for good."""
        _tell(app, FAILURE, [describe_failure(_as_raised(exc), traceback), step_id, token])

    def on_revoked(sender: Any, request: Any, **how: Any) -> None:
        for step_id, token in _called_by(request) if sender.app is app else ():
            _tell(app, FAILURE, [_revoked(how), step_id, token])

    def on_ready(sender: Any, **_: Any) -> None:
        if sender.app is app:
            _tell(app, TASKS, [describe_tasks(app)])

    signals.task_revoked.connect(on_revoked, weak=False)
    signals.worker_ready.connect(on_ready, weak=False)
    return app


def _tell(app: Celery, name: str, args: list[Any]) -> None:
    """Send a message to the orchestrator's workers; a broker that is away costs what it says, not the worker."""
    try:
        app.send_task(name, args=args, task_id=uuid(), **sending())
    except Exception as error:  # noqa: BLE001 - a project's worker goes on whatever becomes of us
        log.warning("the orchestrator could not be told: %s: %s", type(error).__name__, error)


def _as_raised(exc: BaseException) -> BaseException:
    """The exception that was raised: of one that cannot be pickled, Celery hands on one of a base class."""
    raised = sys.exc_info()[1]
    if raised is None or (type(exc) not in type(raised).__mro__ and not hasattr(exc, "exc_cls_name")):
        return exc
    return raised


def describe_failure(exc: BaseException, traceback: Any) -> dict[str, Any]:
    """The error as a step shows it. Celery wraps one that cannot be pickled, and gives the traceback as text."""
    told = describe_exception(exc)
    original = getattr(exc, "exc_cls_name", None)
    if isinstance(original, str):
        message = ", ".join(map(str, getattr(exc, "exc_args", ())))
        told |= {"type": original, "message": clean_text(message, 10_000), "classes": [original]}
    if isinstance(traceback, str) and traceback:
        told["traceback"] = clean_text(traceback, _TRACEBACK)
    return told


def describe_tasks(app: Celery) -> list[dict[str, Any]]:
    """The app's own tasks: name, queue by its routes, the first line of what is written about each."""
    names = sorted(name for name in app.tasks if not name.startswith(_OURS))
    return [{"name": name, "queue": _queue_of(app, name), "description": _about(app.tasks[name])} for name in names]


def _queue_of(app: Celery, name: str) -> str | None:
    try:
        queue = app.amqp.router.route({}, name).get("queue")
    except Exception as error:  # noqa: BLE001 - a router is the project's own code and may want arguments
        log.warning("the queue of task %s is not known: %s: %s", name, type(error).__name__, error)
        return None
    return None if queue is None else str(getattr(queue, "name", queue))


def _about(task: Any) -> str | None:
    described = (getattr(task, "run", None) and task.run.__doc__) or ""
    lines = described.strip().splitlines()
    return clean_text(lines[0], 500) if lines else None


def _called_by(request: Any) -> list[tuple[str, str]]:
    """The step and the token of a task that a step has called; empty for any other."""
    links = [link for link in getattr(request, "errbacks", None) or () if isinstance(link, Mapping)]
    return [tuple(link["args"]) for link in links if link.get("task") == ERROR and len(link.get("args", ())) == 2]


def _revoked(how: Mapping[str, Any]) -> dict[str, Any]:
    if how.get("expired"):
        message = "its worker began with it too late: the step's timeout was over"
    elif how.get("terminated"):
        message = "the Celery task was revoked, and ended while it ran"
    else:
        message = "the Celery task was revoked before it began"
    return {"type": "TaskRevokedError", "message": message, "classes": ["TaskRevokedError"]}
