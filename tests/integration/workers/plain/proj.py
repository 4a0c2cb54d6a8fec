"""A project of its own: plain Celery, nothing of ours. Its settings are those that could get in our way."""

from __future__ import annotations

import datetime
import os
import signal
import sys
import time
from pathlib import Path

from celery import Celery
from celery.exceptions import Ignore

app = Celery("proj", broker=os.environ["PROJ_BROKER"], backend=os.environ.get("PROJ_BACKEND"))
app.conf.update(
    task_default_priority=5,
    task_inherit_parent_priority=True,
    task_serializer="pickle",
    accept_content=["json", "pickle"],
    task_routes=[{"proj.tasks.routed": {"queue": "media"}}],
    task_ignore_result=True,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)
if os.environ.get("PROJ_INSTALL"):
    install = __import__("orchestrator").install
    install(app)


class OutOfStock(LookupError):
    """An error of the project's own."""


class Unpicklable(Exception):
    def __init__(self, article: str, left: int) -> None:
        super().__init__(f"{left} of {article}")


@app.task(name="proj.tasks.add")
def add(a: int, b: int = 1) -> int:
    """Adds.

    Two numbers.
    """
    return a + b


@app.task(name="proj.tasks.alone")
def alone() -> bool:
    """Whether this process has nothing of the orchestrator."""
    return not any(name.split(".")[0] == "orchestrator" for name in sys.modules)


@app.task(name="proj.tasks.fail", ignore_result=True)
def fail(message: str = "sold out") -> None:
    raise OutOfStock(message)


@app.task(name="proj.tasks.fail_oddly")
def fail_oddly() -> None:
    raise Unpicklable("shoes", 2)


@app.task(name="proj.tasks.flaky", bind=True, max_retries=3)
def flaky(self, journal: str, good: int) -> int:  # type: ignore[no-untyped-def]
    """Tries again by Celery's own means until the try number `good`."""
    note(journal, f"try {self.request.retries}")
    if self.request.retries < good:
        raise self.retry(countdown=0.1)
    return int(self.request.retries)


@app.task(name="proj.tasks.wait")
def wait(journal: str, flag: str, gives: str = "done") -> str:
    """Waits for a file."""
    note(journal, f"begun {os.getpid()}")
    while not Path(flag).exists():
        time.sleep(0.02)
    note(journal, "ends")
    return gives


@app.task(name="proj.tasks.give")
def give(what: str) -> object:
    """What JSON cannot hold, or holds in a way of its own."""
    return {
        "set": {1, 2},
        "nan": float("nan"),
        "nul": "a\0b",
        "object": object(),
        "time": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
        "large": "x" * 3_000_000,
        "none": None,
    }[what]


@app.task(name="proj.tasks.die")
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(name="proj.tasks.ignore")
def ignore() -> None:
    raise Ignore


@app.task(name="proj.tasks.routed")
def routed() -> str:
    return "from media"


@app.task(name="proj.tasks.replaced", bind=True)
def replaced(self, a: int) -> None:  # type: ignore[no-untyped-def]
    """Another task takes its place."""
    raise self.replace(add.s(a, b=40))


def note(journal: str, line: str) -> None:
    with Path(journal).open("a") as file:
        file.write(f"{line}\n")
