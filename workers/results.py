"""Why a plain Celery task failed, as its worker has stored it in a result backend."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from celery import Celery, states

from orchestrator.installed import describe_failure

log = logging.getLogger("orchestrator.worker")
_SECONDS = 2.0
_TRIES = 3  # of a backend that has answered so far; what nobody told why is told so for good
_SETTINGS = {
    "result_accept_content": ["json"],
    "result_backend_transport_options": {"retry_policy": {"max_retries": 1}},
    "redis_socket_timeout": _SECONDS,
    "redis_socket_connect_timeout": _SECONDS,
}


class Results:
    """A result backend, by its URL; none when that is empty."""

    def __init__(self, url: str) -> None:
        self._app = Celery("orchestrator-results", backend=url or None, set_as_current=False) if url else None
        if self._app is not None:
            self._app.conf.update(_SETTINGS)
        self._tries = _TRIES

    def error_of(self, task_id: str) -> Mapping[str, Any] | None:
        """The error of a task that failed: type, message, traceback, classes. None where it is not to be found."""
        meta = None if self._app is None else self._asked(self._app, task_id)
        if meta is None:
            return None
        if meta.get("status") not in states.EXCEPTION_STATES or not isinstance(meta.get("result"), BaseException):
            return None
        return describe_failure(meta["result"], meta.get("traceback"))

    def _asked(self, app: Celery, task_id: str) -> Mapping[str, Any] | None:
        """What it has. One that stood still for a moment is asked again; one that is away keeps no more answers
        waiting than once."""
        for _ in range(self._tries):
            try:
                meta: Mapping[str, Any] = app.backend.get_task_meta(task_id)
            except Exception as error:  # noqa: BLE001 - every backend has its own; the step's error says less then
                log.warning("the result backend of Celery tasks: %s: %s", type(error).__name__, error)
            else:
                self._tries = _TRIES
                return meta
        self._tries = 1
        return None
