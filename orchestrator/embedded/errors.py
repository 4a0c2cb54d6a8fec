"""What can go wrong with an embedded server, and the part of its log that says why."""

from __future__ import annotations

from pathlib import Path

from orchestrator.errors import OrchestratorError

_TAIL = 12


class ServerFailed(OrchestratorError):
    """An embedded server cannot be prepared or does not start."""


def log_tail(log: Path, lines: int = _TAIL) -> str:
    """The last lines of a log, indented; empty when there is none."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    return "".join(f"\n    {line}" for line in text.splitlines()[-lines:])
