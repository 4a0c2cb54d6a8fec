"""Whoever uses the installation: starts runs, sends events and decisions, looks at what has ended."""

from __future__ import annotations

import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from orchestrator.errors import Conflict, Unreachable
from orchestrator.services.cancel import cancel
from orchestrator.services.decide import decide
from orchestrator.services.pause import pause, resume
from orchestrator.services.pools import set_pool
from orchestrator.services.register import register
from orchestrator.services.signal import signal
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from tests.chaos import clockwork
from tests.chaos.cases import CASES, POOL, SLOTS, Case, Document
from tests.chaos.world import World

_AGAIN_SECONDS = 0.1
_PATIENCE_SECONDS = 60.0


ACTS: dict[str, Callable[..., Any]] = {
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "force": partial(cancel, force=True),
}


class Driver:
    """Starts runs from a thread of its own, about `rate` a second, whatever is destroyed meanwhile."""

    def __init__(
        self, world: World, rate: float = 4.0, kinds: Sequence[Callable[[random.Random], Case]] = CASES
    ) -> None:
        self.world, self.rate, self.kinds = world, rate, kinds
        self.cases: dict[str, Case] = {}  # by run id
        self.seen: dict[str, tuple[str, str]] = {}  # runs that were seen to have ended: status and output
        self.errors: list[BaseException] = []
        self._chance = random.Random(world.seed + 1)
        self._known: dict[str, Document] = {}
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._safely, args=(act,)) for act in (self._start_all, self._watch)]

    def begin(self) -> None:
        set_pool(self.world.engine, POOL, SLOTS, actor="chaos")
        register(self.world.engine, clockwork.FIRED)
        clockwork.begin(self.world)
        for thread in self._threads:
            thread.start()

    def halt(self) -> None:
        """Start no more."""
        self._stop.set()

    def stop(self) -> None:
        """Start no more, and wait for what is being started; raises what went wrong in its threads."""
        self._stop.set()
        for thread in self._threads:
            thread.join(2 * _PATIENCE_SECONDS)
        if self.errors:
            raise self.errors[0]

    def let_schedules_rest(self) -> None:
        """They fire no more."""
        for act in clockwork.acts_to_end(self.world):
            with suppress(Conflict):  # paused, although the answer was lost
                self._patiently(act)

    def open_runs(self) -> int:
        """How many runs are open, also those that nobody of ours has started; raises `Unreachable`."""
        with self.world.engine.db.transaction() as conn:
            return int(conn.execute(text("SELECT count(*) FROM workflow_runs WHERE finished_at IS NULL")).scalar_one())

    def are_fires_noted(self) -> bool:
        """Whether a coordinator has noted of each run of a schedule how it ended, which all have."""
        return not self.world.rows("SELECT FROM schedule_fires WHERE status = 'started'")

    def _safely(self, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - raised again by `stop`
            self.errors.append(error)

    def _start_all(self) -> None:
        while not self._stop.is_set():
            self.start_one(self._chance.choice(self.kinds)(self._chance))
            self._stop.wait(self._chance.expovariate(self.rate))

    def start_one(self, case: Case) -> str:
        """Start a run of it; its id."""
        for document in case.documents:
            if self._known.get(document["name"]) != document:
                self._patiently(partial(register, self.world.engine, document))
                self._known[document["name"]] = document
        key = f"{self.world.seed}-{len(self.cases)}"
        by_web = bool(self.world.webs) and self._chance.random() < 0.3
        run_id = self._patiently(partial(self._start_by_web if by_web else self._start, case, key))
        self.cases[run_id] = case
        for name, payload in case.sends.items():
            self._patiently(partial(signal, self.world.engine, run_id, name, payload))
        for step in case.decides:
            self._patiently(partial(self._approve, run_id, step))
        for act in case.acts:
            self._stop.wait(self._chance.uniform(0, 0.3))
            self._patiently(partial(self._operate, act, run_id))
        return run_id

    def _operate(self, act: str, run_id: str) -> None:
        with suppress(Conflict):  # it has ended, or what was done is done already
            ACTS[act](self.world.engine, run_id)

    def _approve(self, run_id: str, step: str) -> None:
        with suppress(Conflict):  # decided, although the answer was lost
            decide(self.world.engine, run_id, step, True)

    def _start(self, case: Case, key: str) -> str:
        return start(self.world.engine, case.name, case.input, StartOptions(idempotency_key=key)).run_id

    def _start_by_web(self, case: Case, key: str) -> str:
        url, token = self.world.web
        body = json.dumps({"workflow": case.name, "input": case.input or {}, "idempotency_key": key}).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/runs", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return str(json.load(answer)["id"])
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise AssertionError(f"{error.code}: {error.read().decode()}") from error
            raise Unreachable(f"the web process answered {error.code}") from error
        except OSError as error:
            raise Unreachable(f"the web process is away: {error}") from error

    def _patiently(self, act: Callable[[], Any]) -> Any:
        """As a client does: again, until it is known to be done."""
        ends = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return act()
            except (Unreachable, DBAPIError):
                if time.monotonic() > ends:
                    raise
                time.sleep(_AGAIN_SECONDS)

    def _watch(self) -> None:
        """What was seen to have ended is never seen otherwise again."""
        while not self._stop.wait(0.2):
            with suppress(Unreachable, DBAPIError):
                self.look()

    def look(self) -> None:
        for run_id, seen in self.ended().items():
            assert self.seen.setdefault(run_id, seen) == seen, f"run {run_id} was {self.seen[run_id]}, and is {seen}"

    def ended(self) -> dict[str, tuple[str, str]]:
        with self.world.engine.db.transaction() as conn:
            rows = conn.execute(text("SELECT id, status, output FROM workflow_runs WHERE finished_at IS NOT NULL"))
            return {row.id: (row.status, json.dumps(row.output)) for row in rows}
