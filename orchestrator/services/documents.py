"""Read a workflow document from a file, within the configured limits."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.config import Config
from orchestrator.domain.limits import LIMITS, Limits
from orchestrator.domain.load import load_text
from orchestrator.errors import NotFound, OrchestratorError

STDIN = "-"


def document_limits(config: Config) -> Limits:
    """How large a document may be, as configured."""
    return Limits(document_bytes=config.max_document_bytes, steps=config.max_steps)


def read_document(source: str | Path, *, limits: Limits = LIMITS) -> Any:
    """The data in a YAML or JSON file (`-`: standard input), checked for its syntax and size only.

    Raises `InvalidDefinition`, `NotFound`, and `OrchestratorError` for a file that cannot be read.
    """
    return load_text(read_bytes(source, limits=limits), limits=limits)


def read_bytes(source: str | Path, *, limits: Limits = LIMITS) -> bytes:
    """What is in a file (`-`: standard input), and no more of it than says that it is too large.

    Raises `NotFound`, and `OrchestratorError` for a file that cannot be read.
    """
    return _read(str(source), limits.document_bytes + 1)


def document_of(document: Mapping[str, Any] | str | Path, limits: Limits = LIMITS) -> Any:
    """The data of a map, of YAML or JSON text, or of the file at a path; text without a line break is a path.

    Raises as `read_document` does.
    """
    if isinstance(document, Mapping):
        return document
    if isinstance(document, Path) or ("\n" not in document.strip() and not document.lstrip().startswith("{")):
        return read_document(document, limits=limits)
    return load_text(document, limits=limits)


def _read(source: str, most: int) -> bytes:
    """At most `most` bytes, however large the file."""
    if source == STDIN:
        return sys.stdin.buffer.read(most)
    try:
        with Path(source).open("rb") as file:
            return file.read(most)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file '{source}'") from error
    except (OSError, ValueError) as error:
        raise OrchestratorError(f"cannot read '{source}': {getattr(error, 'strerror', None) or error}") from error
