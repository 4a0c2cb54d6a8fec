"""A line of a JSON log, for those that cannot use `logging`: a signal handler, a process that loads little."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime


def json_line(level: str, logger: str, event: str) -> str:
    """The line without its end, with what every line has (orchestrator/loglines.py)."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": moment, "level": level, "logger": logger, "event": event.strip(), "pid": os.getpid()})
