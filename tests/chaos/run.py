"""A world with users, faults that strike it, and what must be true afterwards."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Unreachable
from orchestrator.services.check import Patience, Report, _Looking
from tests.chaos.cases import CASES, Case
from tests.chaos.driver import Driver
from tests.chaos.faults.cut_connections import cut_connections
from tests.chaos.faults.double_messages import double_messages
from tests.chaos.faults.flush_broker import flush_broker
from tests.chaos.faults.kill_pool_process import kill_pool_process
from tests.chaos.faults.lose_messages import lose_messages
from tests.chaos.flat import Flat
from tests.chaos.hidden import shown_secrets
from tests.chaos.invariants import check_all
from tests.chaos.world import World, world
from tests.support import wait_for

Fault = Callable[[World], None]
BESIDE: tuple[Fault, ...] = (kill_pool_process, flush_broker, cut_connections, lose_messages, double_messages)
REST_SECONDS = 60.0


class Storm:
    """Faults one after the other, in the order that the world's seed gives."""

    def __init__(self, world: World, driver: Driver) -> None:
        self.world, self.driver = world, driver

    def strike(self, fault: Fault, beside: Fault | None = None) -> None:
        self.world.tell(" and ".join(one.__name__ for one in (fault, beside) if one is not None))
        self.world.replenish()
        with ThreadPoolExecutor(1) as other:
            second = other.submit(beside, self.world) if beside is not None else None
            fault(self.world)
            if second is not None:
                second.result()
        self.world.replenish()

    def strike_alone(self, fault: Fault) -> None:
        self.strike(fault)
        begun = set(self.driver.cases)
        since = time.monotonic()

        def over() -> bool:
            with suppress(Unreachable, DBAPIError):
                return not begun - self.driver.ended().keys()
            return False

        wait_for(over, REST_SECONDS, what=f"all runs have ended that {fault.__name__} has struck")
        self.world.tell(f"{fault.__name__}: over after {time.monotonic() - since:.1f} s")
        self.look()

    def look(self) -> None:
        """What can never be is not so, in the middle of it all."""
        with suppress(Unreachable, DBAPIError):
            looking = _Looking(self.world.engine.db, Patience(), Report())
            found = list(looking.sure())
            assert not found, found


def quiet(world: World, driver: Driver) -> None:
    """Everything that was broken is whole again, nobody starts runs, and all come to their end."""
    world.calm()
    world.refuse("")
    world.replenish()
    driver.stop()
    driver.let_schedules_rest()
    for plain in list(world.plains):  # it may serve nobody any more
        world.kill(plain)
    wait_for(world.is_complete, REST_SECONDS, what="all that is to live is ready")

    def over() -> bool:
        with suppress(Unreachable, DBAPIError):
            return not driver.cases.keys() - driver.ended().keys() and not driver.open_runs()
        return False

    wait_for(over, REST_SECONDS, what="all runs have ended")
    wait_for(driver.are_fires_noted, REST_SECONDS, what="schedules know of the ends of their runs")
    driver.look()


def storm(
    folder: Path,
    seed: int,
    faults: Sequence[Fault],
    seconds: float,
    *,
    rate: float = 4.0,
    pace: float = 1.0,
    kinds: Sequence[Callable[[random.Random], Case]] = CASES,
) -> list[str]:
    """Let faults strike for `seconds`, in rounds of all of them; all that is wrong afterwards."""
    return _struck(folder, seed, lambda storm: strike_all(storm, faults, seconds), rate, pace, kinds)


def one_by_one(folder: Path, seed: int, faults: Sequence[Fault], *, pace: float = 1.0) -> list[str]:
    """Let each fault strike alone: what had begun by its end has come to its own before the next one strikes."""
    return _struck(folder, seed, lambda storm: [storm.strike_alone(fault) for fault in faults], 2.0, pace, CASES)


def _struck(
    folder: Path,
    seed: int,
    strike: Callable[[Storm], object],
    rate: float,
    pace: float,
    kinds: Sequence[Callable[[random.Random], Case]],
) -> list[str]:
    with world(folder, seed, pace=pace) as made:
        made.add_web()
        made.replenish()
        for process in [*made.workers, *made.beats]:
            made._ready(process)
        flat = Flat(made)
        driver = Driver(made, rate, kinds)
        driver.begin()
        try:
            strike(Storm(made, driver))
        finally:
            driver.halt()
        quiet(made, driver)
        found = [f"ended by itself: {process.log.name}" for process in made.died]
        found += [*check_all(made, driver.cases), *flat.faults(), *shown_secrets(made)]
        left = made.stop_processes()
        fired = made.rows("SELECT count(run_id) AS n FROM schedule_fires")[0].n
        made.tell(f"{len(driver.cases)} runs and {fired} of schedules, {len(made.processes)} processes")
        return found + [f"left running: {process}" for process in left]


def strike_all(storm: Storm, faults: Sequence[Fault], seconds: float) -> None:
    """In an order that the seed gives, a few of them two at a time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        order = list(faults)
        storm.world.random.shuffle(order)
        for fault in order:
            if time.monotonic() > ends:
                return
            beside = storm.world.random.choice(BESIDE) if storm.world.random.random() < 0.3 else None
            storm.strike(fault, beside)
            storm.world.last(0, 0.5)
            storm.look()
