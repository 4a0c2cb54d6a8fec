"""How long it takes until all goes on after one thing has broken, with the settings that are the default.

    python -m tests.chaos.recovery [--write]      (make recovery)

`--write` puts the table into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.services.register import register
from orchestrator.services.start import start
from tests.chaos import start as place
from tests.chaos.cases import work
from tests.chaos.faults.stop_broker import stop_broker
from tests.chaos.world import World, world
from tests.support import wait_for

PAGE = place.ROOT / "docs/reliability.md"
BEGIN, END = "<!-- recovery: make recovery -->\n", "<!-- /recovery -->\n"
# The defaults of orchestrator/config.py, in place of the suite's own pace.
DEFAULTS = {"LEASE_SECONDS": "15", "TICK_SECONDS": "1", "RESEND_SECONDS": "5", "TIMEOUT_GRACE_SECONDS": "5"}
_RETRIED = {"max_attempts": 3, "delay": 1}


def hold(world: World) -> str:
    """A run whose first attempt has begun, and takes longer than anything here."""
    run_id = start(world.engine, "hold", None).run_id
    world.wait_event("begin", "long")
    return run_id


def elsewhere(world: World, run_id: str, since: float) -> float:
    """Seconds from `since` to the next attempt's beginning."""
    begun = wait_for(lambda: [e for e in world.events("begin", "long") if e["at"] > since and e["run"] == run_id], 60)
    return float(begun[0]["at"]) - since


def chains(world: World, count: int = 4) -> list[str]:
    return [start(world.engine, "moving", None).run_id for _ in range(count)]


def moving(world: World, since: float, runs: list[str]) -> float:
    """Seconds from `since` until a step of each of these runs has begun after it."""

    def moved() -> float | None:
        first: dict[str, float] = {}
        for event in world.events("begin"):
            if event["at"] > since and event["run"] in runs:
                first.setdefault(event["run"], event["at"])
        return max(first.values()) if len(first) == len(runs) else None

    at = wait_for(moved, 90, what="all runs move")
    assert at is not None
    return at - since


def worker_killed(world: World) -> float:
    run_id = hold(world)
    pid = world.wait_event("begin", "long")["pid"]
    doomed = next(worker for worker in world.workers if pid in worker.children())
    since = time.monotonic()
    world.kill(doomed)
    took = elsewhere(world, run_id, since)
    world.add_worker(ready=True)
    return took


def process_killed(world: World) -> float:
    run_id = hold(world)
    since = time.monotonic()
    os.kill(world.wait_event("begin", "long")["pid"], signal.SIGKILL)
    return elsewhere(world, run_id, since)


def broker_flushed(world: World) -> float:
    runs = chains(world)
    moving(world, time.monotonic(), runs)
    since = time.monotonic()
    with world.broker() as client:
        client.flushall()
    return moving(world, since, [*runs, *chains(world)])


def broker_away(world: World, seconds: float) -> float:
    runs = chains(world)
    stop_broker(world, seconds)
    since = time.monotonic()
    return moving(world, since, [*runs, *chains(world)])


def postgres_restarted(world: World, how: signal.Signals) -> float:
    runs = chains(world)
    moving(world, time.monotonic(), runs)
    world.stop_server("postgres", how)
    world.start_server("postgres")
    return moving(world, time.monotonic(), runs)


def beat_killed(world: World) -> float:
    """How much later than its time a retry begins, with another beat alive."""
    world.add_beat(ready=True)
    run_id = start(world.engine, "retried", None).run_id
    raised = world.wait_event("raise", "flaky")["at"]
    world.kill(world.beats[0])
    again = wait_for(lambda: [e for e in world.events("begin", "flaky") if e["run"] == run_id and e["at"] > raised], 60)
    return float(again[0]["at"]) - raised - float(_RETRIED["delay"])


@dataclass(frozen=True)
class Row:
    """What breaks, until when is measured, the goal in seconds."""

    what: str
    until: str
    goal: float | None
    measure: Callable[[World], float]


ROWS = (
    Row("a pool process is killed", "its step begins elsewhere", 3, process_killed),
    Row("a worker is killed with all its processes", "its step begins elsewhere (lease 15 s)", 17, worker_killed),
    Row("the broker is flushed", "all runs move", 5, broker_flushed),
    Row("the broker is back after 3 s", "all runs move", 5, lambda world: broker_away(world, 3)),
    Row("the broker is back after 30 s", "all runs move", 5, lambda world: broker_away(world, 30)),
    Row("Postgres is back, stopped fast", "all runs move", 5, lambda world: postgres_restarted(world, signal.SIGINT)),
    Row("Postgres is back, stopped at once", "all runs move", 5, lambda w: postgres_restarted(w, signal.SIGQUIT)),
    Row("a beat is killed, another lives", "a retry begins: how late", 1.5, beat_killed),
)
_CHAIN = [work(f"s{i}", *([f"s{i - 1}"] if i else []), seconds=0.1) for i in range(600)]
DOCUMENTS = (
    {"name": "hold", "steps": [work("long", seconds=40)]},
    {"name": "moving", "steps": _CHAIN},
    {"name": "retried", "steps": [work("flaky", fails=1, retry=_RETRIED)]},
)


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds by what breaks; each in a world of its own."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for row in ROWS:
            with tempfile.TemporaryDirectory() as folder, world(Path(folder), 0, quiet=True) as made:
                made.environment |= {f"ORCHESTRATOR_{name}": value for name, value in DEFAULTS.items()}
                made.replenish()
                for process in [*made.workers, *made.beats]:
                    made._ready(process)
                for document in DOCUMENTS:
                    register(made.engine, document)
                found.setdefault(row.what, []).append(row.measure(made))
            print(f"{row.what}: {found[row.what][-1]:.1f} s", flush=True)  # noqa: T201
    return found


def table(found: dict[str, list[float]]) -> str:
    lines = ["| what breaks | until | seconds (median, worst) | goal |", "|---|---|---|---|"]
    for row in ROWS:
        took = found[row.what]
        goal = "" if row.goal is None else f"{row.goal:g}"
        lines.append(f"| {row.what} | {row.until} | {statistics.median(took):.1f}, {max(took):.1f} | {goal} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--write", action="store_true")
    options.add_argument("--rounds", type=int, default=1)
    asked = options.parse_args()
    made = table(measure(asked.rounds))
    print(made)  # noqa: T201
    if asked.write:
        text = PAGE.read_text()
        before, rest = text.split(BEGIN)
        PAGE.write_text(before + BEGIN + made + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
