"""Whether this process could serve: its servers answer, and the schema is one it can work on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from orchestrator.config import Config
from orchestrator.errors import OrchestratorError
from orchestrator.store.migrate import check
from orchestrator.transport import ping

BOUND_SECONDS = 2.0


class NotReady(OrchestratorError):
    """A check has found why this process cannot serve."""


class BoundedCheck:
    """Runs a check in a thread and waits a bounded time for it.

    Requests that come while one is under way wait for that one, so a server that hangs costs one thread, not one a
    request.
    """

    def __init__(self, run: Callable[[], object], seconds: float) -> None:
        self._run = run
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: Future[object] | None = None

    def start(self) -> Future[object]:
        """The check under way, begun now if there is none."""
        with self._lock:
            if self._running is None or self._running.done():
                self._running = Future()
                threading.Thread(target=self._fulfil, args=(self._running,), daemon=True).start()
            return self._running

    def fault(self, under_way: Future[object]) -> str | None:
        """What it found, as a sentence; None when all is well."""
        try:
            under_way.result(self._seconds)
        except TimeoutError:
            return f"no answer within {self._seconds:g} seconds"
        except OrchestratorError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the answer is "not ready, because"
            return f"{type(error).__name__}: {error}"
        return None

    def _fulfil(self, future: Future[object]) -> None:
        try:
            future.set_result(self._run())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            future.set_exception(error)


@dataclass(frozen=True, slots=True)
class Readiness:
    """The checks by name."""

    checks: Mapping[str, BoundedCheck]

    @classmethod
    def of(cls, config: Config) -> Readiness:
        """Postgres reachable and migrated, the broker reachable."""
        return cls(
            {
                "postgres": BoundedCheck(partial(_check_postgres, config.database_url), BOUND_SECONDS),
                "broker": BoundedCheck(partial(ping, config.broker_url, timeout=BOUND_SECONDS), BOUND_SECONDS),
            }
        )

    def faults(self) -> dict[str, str | None]:
        """Each check's fault, or None. The checks run side by side."""
        under_way = {name: one.start() for name, one in self.checks.items()}
        return {name: self.checks[name].fault(future) for name, future in under_way.items()}


def _check_postgres(url: str) -> None:
    state = check(url, timeout=BOUND_SECONDS)
    if not state.ready:
        raise NotReady(str(state))
