"""Celery's consumer, which comes back soon after its broker does, and for certain."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from celery.worker.consumer import Consumer

log = logging.getLogger("orchestrator.worker")
# Celery's own waits grow to 30 s: after a long outage a worker would stay away for as long again.
_BETWEEN_TRIES = {"interval_start": 0.5, "interval_step": 0.5, "interval_max": 3.0}


class SoonBack(Consumer):
    """Tries to connect every three seconds at most, for as long as it takes."""

    def ensure_connected(self, conn: Any) -> Any:
        conn.ensure_connection = partial(conn.ensure_connection, **_BETWEEN_TRIES)
        return super().ensure_connected(conn)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Close what is broken; what goes wrong in that is no reason to take no more steps.

        kombu gives back what it has fetched, and where the broker is away stumbles over what it has closed before:
        Celery would end the worker for it, once all that runs has ended.
        """
        try:
            super().on_connection_error_after_connected(exc)
        except Exception as error:  # noqa: BLE001 - whatever it is, another connection is made
            self.connection = None
            log.info("the broken connection to the broker was left as it is: %s: %s", type(error).__name__, error)
