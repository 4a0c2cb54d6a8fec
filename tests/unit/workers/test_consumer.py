"""How long a worker stays away after its broker is back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from celery import Celery

from workers.consumer import SoonBack


class Connection:
    """One that is refused ten times; remembers how long it was to wait after each."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.transport = SimpleNamespace(driver_type="redis")

    def as_uri(self) -> str:
        return "redis://"

    def ensure_connection(self, errback: Any, max_retries: Any = None, callback: Any = None, **waits: float) -> Any:
        wait = waits["interval_start"]
        for _ in range(10):
            errback(OSError("refused"), wait)
            self.waits.append(wait)
            wait = min(wait + waits["interval_step"], waits["interval_max"])
        return self


def test_a_worker_tries_to_reach_its_broker_every_three_seconds_at_most() -> None:
    """Celery's own waits grow to half a minute."""
    connection = Connection()
    app = Celery("test", set_as_current=False)
    app.conf.broker_connection_retry_on_startup = True
    consumer = SimpleNamespace(app=app, first_connection_attempt=True, broker_connection_retry_attempt=0)
    consumer.restart_count = 0
    bound: Any = SoonBack.ensure_connected.__get__(_like(consumer), SoonBack)
    bound(connection)
    assert connection.waits[0] < 1
    assert max(connection.waits) == 3


def _like(facts: SimpleNamespace) -> SoonBack:
    made = SoonBack.__new__(SoonBack)
    made.__dict__.update(facts.__dict__)
    return made
