"""The workers' app, whose pool processes write to a pipe that nobody reads any more."""

from __future__ import annotations

import os
from typing import Any

from celery import signals

from workers.app import app

__all__ = ["app"]


def stop_reading(**_: Any) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    os.dup2(writes, 1)
    os.dup2(writes, 2)


signals.worker_process_init.connect(stop_reading, weak=False)
