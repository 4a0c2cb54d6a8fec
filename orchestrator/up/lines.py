"""Which of a child's lines are worth a person's eyes: warnings and worse, with what belongs to them."""

from __future__ import annotations

import re

# "2026-11-29 17:00:00,000 WARNING 123 orchestrator.worker: ..." (workers/console.py), "[...: WARNING/MainProcess] ..."
# (Celery before that is set up), "[... +0000] [123] [ERROR] ..." (gunicorn)
_HEADER = re.compile(r"(?:\[[^\]]*\b|^\d{4}-\d\d-\d\d [\d:,]+ )(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_SERIOUS = ("WARNING", "ERROR", "CRITICAL")
_TRACEBACK = "Traceback (most recent call last):"


# A line that is JSON (orchestrator/loglines.py) has its level behind its time.
_JSON = re.compile(r'^\{"time": "[^"]+", "level": "(\w+)"')


class SeriousLines:
    """Says line by line whether to show it. Lines without a level belong to the one before them."""

    def __init__(self) -> None:
        self._showing = False

    def shows(self, line: str) -> bool:
        header = _JSON.match(line) or _HEADER.search(line, 0, 120)
        if header is not None:
            self._showing = header[1] in _SERIOUS
        elif line.startswith(_TRACEBACK):
            self._showing = True
        return self._showing and bool(line.strip())


class AllLines:
    """Shows every line."""

    def shows(self, line: str) -> bool:
        return bool(line.strip())
