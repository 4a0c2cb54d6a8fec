"""The worker's own output: one line a record, without secrets."""

from __future__ import annotations

import logging
import sys
from typing import Any

from celery import signals

from workers.logs import Output, masker

_FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"
# Celery tells of every message it takes and finishes; a step's life is in the database.
_CHATTY = ("celery.worker.strategy", "celery.app.trace")


class MaskingFormatter(logging.Formatter):
    """Hides the secrets of this process."""

    def format(self, record: logging.LogRecord) -> str:
        return masker().text(super().format(record))


class Console:
    """Sets logging up in Celery's place."""

    def __init__(self, level: str) -> None:
        self._level: int = logging.getLevelNamesMapping()[level]

    def connect(self) -> None:
        signals.setup_logging.connect(self.on_setup, weak=False)

    def on_setup(self, loglevel: int | None = None, **_: Any) -> None:
        """Log to stderr from the configured level on, or from a lower one given to `celery --loglevel`."""
        handler = logging.StreamHandler(Output(sys.__stderr__))
        handler.setFormatter(MaskingFormatter(_FORMAT))
        root = logging.getLogger()
        root.addHandler(handler)
        root.setLevel(min(self._level, loglevel or self._level))
        for name in _CHATTY:
            logging.getLogger(name).setLevel(max(root.level, logging.WARNING))
