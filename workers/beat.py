"""Celery beat, with the coordinator's tick done in the beat process itself.

Sent to the workers it would wait behind their backlog, and with it every retry, timeout and lease. Entries live in
memory: what is due is in Postgres. Any number of beats may run; each does the whole duty, and none does harm twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry, Scheduler

from orchestrator.bootstrap import make_engine
from orchestrator.config import Config
from orchestrator.domain.celery_task import is_celery_task
from orchestrator.functions import Registry, announced
from orchestrator.ids import new_id
from orchestrator.services.coordinate import do, due
from orchestrator.services.ring import LOOK_AGAIN_SECONDS
from orchestrator.store import workers
from orchestrator.store.db import connect_alone
from orchestrator.store.notify import Ear
from orchestrator.transport import COORDINATE
from workers.alarm import Alarm
from workers.announce import Announcer, this_process
from workers.ended import traced
from workers.listen import Listener
from workers.outage import Outage
from workers.sweeper import Sweeper
from workers.telling import Telling

log = logging.getLogger("orchestrator.beat")
# Long for one of our own transactions. What is locked for longer is left to the next tick; the rest must not wait.
_LOCK_SECONDS = 0.5
_LATE_SECONDS = 0.001
CONFIG = "orchestrator_config"  # where the app's settings keep ours


class Coordinator:
    """The coordinator of one beat process."""

    def __init__(self, config: Config) -> None:
        told = this_process(new_id(), "beat")
        self._listener = Listener(partial(_ear, config) if config.notify else None)
        engine = make_engine(
            config, load_functions=False, pool_size=2, name="orchestrator-beat", lock_timeout=_LOCK_SECONDS
        )
        self._engine = replace(engine, functions=Registry())
        self._heartbeat = config.heartbeat_seconds
        self._announcer = Announcer(
            self._engine.db, lambda: replace(told, listening=self._listener.listening), changed=self._listener.changed
        )
        self._telling = Telling(self._engine)
        self._traces = traced(config)
        self._outage = Outage(log, "coordinating")
        self._reclaims_at = 0.0
        self._began = False
        self._sweeper = Sweeper(engine.db, config.gc_seconds, engine.blobs)
        self._sweeper.start()

    def tick(self) -> None:
        """Do what is due; nothing that goes wrong ends the beat."""
        self._began = True
        began = time.monotonic()
        try:
            with self._outage.ridden_out():
                duties = due(self._engine, reclaiming=time.monotonic() >= self._reclaims_at)
                if duties:
                    self._know_functions()
                    do(self._engine, duties)
                self._announcer.announce()
                self._engine.tally.observe("tick", time.monotonic() - began)
                self._telling.show()
        except Exception:  # noqa: BLE001 - the next tick tries again
            log.exception("a tick failed; the next one does its work")
        if not self._outage.lasts:
            self._listener.open()
        else:
            # Workers could not renew their leases either; they get the time to do so when Postgres is back.
            self._reclaims_at = time.monotonic() + 2 * self._heartbeat

    def _know_functions(self) -> None:
        """A step may take its queue and retry from its function: workers announce them, so beat imports none."""
        with self._engine.db.transaction() as conn:
            for row in workers.load_announced(conn):
                if not is_celery_task(row.name):
                    self._engine.functions.put(announced(row.name, row.queue, row.retry))

    def rest(self, seconds: float) -> float:
        """Wait so long for somebody to ring, and tick as often as somebody does; how much of it is left to sleep."""
        end = time.monotonic() + seconds
        if not self._began:
            self.tick()
        rung = False
        while (left := end - time.monotonic()) > 0:
            again, rung = rung, self._listener.wait(min(left, LOOK_AGAIN_SECONDS) if rung else left)
            if not rung and not again:
                return max(0.0, end - time.monotonic())
            self.tick()
        return 0.0

    def stop(self) -> None:
        self._listener.close()
        self._sweeper.stop()
        if self._traces is not None:
            self._traces.stop()
        with self._outage.ridden_out():
            self._announcer.leave()
            self._telling.last_if_possible()
        self._engine.db.close()


def _ear(config: Config) -> Ear:
    return Ear(partial(connect_alone, config.listen_url or config.database_url, "orchestrator-listen"))


class CoordinatingScheduler(Scheduler):
    """Runs the entry `orchestrator.coordinate` here, and sends every other to its queue."""

    def __init__(self, app: Celery, lazy: bool = False, **kwargs: Any) -> None:
        self._coordinator = None if lazy else Coordinator(app.conf[CONFIG])
        self._alarm = None if lazy else Alarm(app.conf[CONFIG])
        if self._alarm is not None:
            self._alarm.start()
        super().__init__(app, lazy=lazy, **kwargs)

    @property
    def producer(self) -> Any:
        """None: Celery makes one when it sends an entry, so that beat ticks on while the broker is away."""
        return None

    def adjust(self, n: float, drift: float = _LATE_SECONDS) -> float:
        """How long to sleep when an entry is due in `n` seconds. Celery's own wakes too early, and then spins."""
        return n + drift if n and n > 0 else n

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """One due entry; then the time until the next is spent listening, where that is possible."""
        seconds: float = super().tick(*args, **kwargs)
        return self._coordinator.rest(seconds) if self._coordinator is not None and seconds else seconds

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        if entry.task == COORDINATE and self._coordinator is not None:
            self._coordinator.tick()
        else:
            super().apply_entry(entry, producer)

    def close(self) -> None:
        """Called once by the signal handler and once at the end."""
        alarm, self._alarm = self._alarm, None
        if alarm is not None:
            alarm.stop()
        coordinator, self._coordinator = self._coordinator, None
        if coordinator is not None:
            coordinator.stop()
        super().close()


def schedule(tick_seconds: float) -> Mapping[str, Any]:
    """The beat schedule."""
    return {"coordinate": {"task": COORDINATE, "schedule": tick_seconds, "options": {"expires": 10 * tick_seconds}}}
