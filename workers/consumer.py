"""Celery's consumer, which comes back soon after its broker does."""

from __future__ import annotations

from functools import partial
from typing import Any

from celery.worker.consumer import Consumer

# Celery's own waits grow to 30 s: after a long outage a worker would stay away for as long again.
_BETWEEN_TRIES = {"interval_start": 0.5, "interval_step": 0.5, "interval_max": 3.0}


class SoonBack(Consumer):
    """Tries to connect every three seconds at most, for as long as it takes."""

    def ensure_connected(self, conn: Any) -> Any:
        conn.ensure_connection = partial(conn.ensure_connection, **_BETWEEN_TRIES)
        return super().ensure_connected(conn)
