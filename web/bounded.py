"""A map of bounded size, for threads: what was put in first leaves first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Bounded(Generic[Key, Value]):
    """Holds at most `most` values."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        with self._lock:
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._put(key, value)

    def update(self, key: Key, change: Callable[[Value | None], Value]) -> Value:
        """Replace the value by what `change` makes of it, in one step; the new value."""
        with self._lock:
            value = change(self._values.get(key))
            self._put(key, value)
            return value

    def drop(self, condition: Callable[[Value], bool]) -> None:
        """Forget every value for which the condition holds."""
        with self._lock:
            for key in [key for key, value in self._values.items() if condition(value)]:
                del self._values[key]

    def _put(self, key: Key, value: Value) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._most:
            self._values.popitem(last=False)
