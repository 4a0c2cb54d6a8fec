"""The worker's own output: one line a record, without secrets."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from celery import signals
from celery.apps import worker

from orchestrator.domain.masking import Masker
from orchestrator.jsonline import json_line
from orchestrator.loglines import JSON, adopt_structlog, make_formatter, to_stream
from workers.about import facts, name_apps
from workers.logs import Output, hide, masker
from workers.printed import print_by

# Celery tells of every message it takes and finishes; a step's life is in the database.
_CHATTY = ("celery.worker.strategy", "celery.app.trace")


def _say(text: str, stream: TextIO | None = None) -> None:
    """What Celery says in its signal handlers, past every log."""
    with suppress(OSError):
        os.write(2, json_line("INFO", worker.__name__, text).encode() + b"\n")


class Console:
    """Sets logging up in Celery's place."""

    def __init__(self, level: str, kind: str, secrets: Masker) -> None:
        self._level: int = logging.getLevelNamesMapping()[level]
        self._kind, self._secrets = kind, secrets

    def connect(self) -> None:
        signals.setup_logging.connect(self.on_setup, weak=False)
        if self._kind == JSON:  # now: Celery warns of what it thinks of the user before it sets logging up
            self._install()

    def on_setup(self, loglevel: int | None = None, **_: Any) -> None:
        """Log to stderr from the configured level on, or from a lower one given to `celery --loglevel`."""
        if self._kind != JSON:
            self._install()
        root = logging.getLogger()
        root.setLevel(min(self._level, loglevel or self._level))
        for name in _CHATTY:
            logging.getLogger(name).setLevel(max(root.level, logging.WARNING))

    def _install(self) -> None:
        hide(self._secrets)
        handler = to_stream(Output(sys.__stderr__), make_formatter(self._kind, masker, facts))
        logging.getLogger().addHandler(handler)
        adopt_structlog()
        if self._kind == JSON:
            logging.captureWarnings(True)
            vars(worker)["safe_say"] = _say
            name_apps()
            print_by(handler)
