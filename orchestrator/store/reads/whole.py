"""Values of one run, step or item as a whole, where parts of them lie in the blob store."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Read = Callable[[Any], Any]  # a value that the database gave, as it is to be shown
_VALUES = ("item", "input", "output")


def read_whole(row: Any, read: Read | None) -> Any:
    """The row with its values read; as it is without `read`."""
    if read is None:
        return row
    found = vars(row) if isinstance(row, SimpleNamespace) else dict(row._mapping)
    return SimpleNamespace(**{name: read(value) if name in _VALUES else value for name, value in found.items()})
