"""Hands of an engine with a blob store in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.blobstore import FileStore
from orchestrator.domain.blobs import MARK
from orchestrator.services.blobs import Blobs
from orchestrator.store.db import Database
from tests.hands import Hands

Worker = TypeVar("Worker", bound=Hands)
OVER, MOST, INLINE = 1000, 200_000, 5000


def text(size: int, of: str = "x") -> str:
    return of * size


def repeat(size: int, of: Any) -> str:
    return str(of) * size


def rows(count: int, width: int = 100) -> list[dict[str, Any]]:
    return [{"n": n, "text": "y" * width} for n in range(count)]


def length(of: Any = None) -> int:
    return len(of)


FUNCTIONS: dict[str, Callable[..., Any]] = {"text": text, "rows": rows, "length": length, "repeat": repeat}


def hands(db: Database, folder: Path, functions: Mapping[str, Callable[..., Any]] | None = None) -> Hands:
    """What makes over 1000 bytes of JSON is put away, up to 200,000."""
    return shelved(Hands(db, FUNCTIONS | dict(functions or {})), folder)


def shelved(made: Worker, folder: Path) -> Worker:
    """The same for hands that are there."""
    blobs = Blobs(FileStore(folder.as_uri()), OVER, MOST, INLINE)
    made.engine = replace(made.engine, blobs=blobs, settings=replace(made.engine.settings, max_output_bytes=INLINE))
    return made


def files(folder: Path) -> list[Path]:
    """The blobs in the folder."""
    return sorted(p for p in folder.rglob("*.json") if p.is_file())


def stored(folder: Path) -> list[Any]:
    return [json.loads(path.read_text()) for path in files(folder)]


def is_reference(value: Any) -> bool:
    return isinstance(value, dict) and MARK in value
