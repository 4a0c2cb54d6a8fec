"""The histories that a file of `orchestrator runs export` holds."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.domain.archive import FORMAT, HEAD, HISTORY
from orchestrator.errors import OrchestratorError

_GZIP = b"\x1f\x8b"


def read_histories(path: Path) -> Iterator[Mapping[str, Any]]:
    """Each of them; raises `OrchestratorError` for another file."""
    with path.open("rb") as raw:
        packed = raw.read(2) == _GZIP
    with gzip.open(path) if packed else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            told = _line(line)
            if number == 1 and (told.get("kind"), told.get("format")) != (HEAD, FORMAT):
                raise OrchestratorError(f"{path} is no export of runs of format {FORMAT}")
            if told.get("kind") == HISTORY:
                yield told


def _line(line: bytes) -> Mapping[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
