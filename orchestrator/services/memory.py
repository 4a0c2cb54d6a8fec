"""What was used last, kept in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Memory(Generic[Key, Value]):
    """A bounded cache of values that do not change. Safe between threads."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """The value; None when it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep the value, in place of one that is there; the one not used for longest goes."""
        with self._lock:
            self._keep(key, value)

    def of(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value, made if it is not there. Of two threads that make it at once one takes the other's."""
        with self._lock:
            if key in self._values:
                return self._keep(key, self._values[key])
        made = make()
        with self._lock:
            return self._keep(key, self._values.get(key, made))

    def _keep(self, key: Key, value: Value) -> Value:
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)
        return value
