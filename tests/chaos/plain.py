"""Another team's project: plain Celery, whose worker has all the faults that Celery's have."""

from __future__ import annotations

import os
from collections.abc import Sequence

from celery import Celery

QUEUE = "shop"

app = Celery("shop", broker=os.environ.get("REDIS_URL"))
app.conf.update(task_default_queue=QUEUE, broker_connection_retry_on_startup=True)


@app.task(name="shop.sum", shared=False)
def add(numbers: Sequence[int]) -> int:
    return sum(numbers)
