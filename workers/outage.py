"""An outage of Postgres, or a database that is not migrated yet, told once however long it lasts."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.errors import Unreachable


class Outage:
    """Around work that is tried again anyway: lets `Unreachable` pass without raising."""

    def __init__(self, log: logging.Logger, what: str) -> None:
        self._log, self._what = log, what
        self._since: float | None = None

    @property
    def lasts(self) -> bool:
        return self._since is not None

    @contextmanager
    def ridden_out(self) -> Iterator[None]:
        try:
            yield
        except Unreachable as error:
            if self._since is None:
                self._since = time.monotonic()
                self._log.error("%s; %s goes on when it answers", error, self._what)
        else:
            if self._since is not None:
                self._log.warning("Postgres answers again, after %.0f s", time.monotonic() - self._since)
                self._since = None
