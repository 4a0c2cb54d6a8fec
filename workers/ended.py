"""A coordinator's thread that tells ended runs as traces: sending may take long, and no tick is to wait for it."""

from __future__ import annotations

import logging
import threading

from orchestrator.config import Config
from orchestrator.errors import OrchestratorError
from orchestrator.store.db import Database
from orchestrator.tracing.load import Runs, load_runs
from workers.outage import Outage

log = logging.getLogger("orchestrator.beat")
_EVERY_SECONDS = 1.0
_STOP_SECONDS = 6.0


class Ended:
    """Looks each second, until it is stopped; what has ended then is told, too."""

    def __init__(self, runs: Runs, db: Database) -> None:
        self._runs, self._db = runs, db
        self._outage = Outage(log, "telling ended runs")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="orchestrator-traces", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.wait(_EVERY_SECONDS):
            self._look()
        self._look()
        self._runs.flush()
        self._db.close()

    def _look(self) -> None:
        try:
            with self._outage.ridden_out():
                self._runs.tell()
        except OrchestratorError as error:
            log.warning("ended runs could not be told: %s", error)
        except Exception:  # noqa: BLE001 - the next look goes on
            log.exception("ended runs could not be told")


def traced(config: Config) -> Ended | None:
    """None where the settings do not ask for traces."""
    if not config.traces.exporters:
        return None
    db = Database.connect(config.database_url, pool_size=1, application_name="orchestrator-beat")
    runs = load_runs(config, db)
    return None if runs is None else Ended(runs, db)
