"""A worker that is told to stop does not sleep on."""

from __future__ import annotations

import os
import select
from typing import Any

from celery import signals
from kombu.asynchronous import Hub

from workers.waking import Waking, leave_at_once


def test_a_stop_ends_the_wait_of_the_event_loop_once() -> None:
    hub = Hub()
    waking = Waking(consumer=None)
    waking.register_with_event_loop(None, hub)
    (bell,) = (fd for fd in hub.readers if hub.readers[fd][0] == waking.silence)
    signals.worker_shutting_down.send(sender="a worker", sig="TERM", how="Warm", exitcode=0)
    assert _readable(bell)
    next(hub.create_loop())
    assert not _readable(bell)
    hub.close()


def test_a_pool_process_that_leaves_keeps_its_exit_code() -> None:
    child = os.fork()
    if not child:
        leave_at_once(pid=os.getpid(), exitcode=155)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 155


def _readable(fd: Any) -> bool:
    return bool(select.select([fd], [], [], 0)[0])
