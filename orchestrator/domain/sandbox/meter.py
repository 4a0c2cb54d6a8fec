"""What one rendering may cost: work, time and output, charged as it goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Any

from orchestrator.errors import ExpressionError

MAX_RANGE = 100_000  # elements of one range() or one repeated list
MAX_TEXT = 1 << 20  # characters of one text an operation makes
MAX_INT_BITS = 14_000  # of one whole number: just under the 4,300 digits Python turns into text
ITEM = 32  # work charged for an element that is made: about the bytes it takes
_READ = 8  # and for one that is only looked at
_VISIT = 16  # and for one that is visited in Python
_BATCH = 4096  # work gathered before it is charged
_OPERATIONS = 50  # charged between looks at the clock

_FLAT = frozenset({int, float, bool, str, type(None)})  # what has no parts


@dataclass(frozen=True, slots=True)
class Limits:
    """`work` in bytes made or read, `seconds` of processor time, `output` in characters of JSON text.

    Processor time, because a template must not fail when the machine is busy. Work alone ends every rendering; time
    ends those whose work costs more than most.
    """

    work: int = 32 << 20
    seconds: float = 2.0
    output: int = 1 << 20


class Meter:
    """Counts one rendering down. Every method raises `ExpressionError` when a limit is passed."""

    __slots__ = ("_limits", "_output", "_started", "_until_look", "_work")

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._work = limits.work
        self._output = limits.output
        self._started: float | None = None  # reading the clock costs as much as a small rendering
        self._until_look = 0

    def spend(self, work: int) -> None:
        """Charge for work about to be done, and now and then look at the clock."""
        self._work -= work
        if self._work < 0:
            raise ExpressionError(f"it takes too much work (the limit is {self._limits.work} bytes made or read)")
        self._until_look -= 1
        if self._until_look < 0:
            self._look()

    def _look(self) -> None:
        self._until_look = _OPERATIONS
        if self._started is None:
            self._started = thread_time()
        elif thread_time() - self._started > self._limits.seconds:
            raise ExpressionError(f"it takes too long (the limit is {self._limits.seconds:g} seconds)")

    def emit(self, size: int) -> None:
        """Charge for output."""
        self._output -= size
        if self._output < 0:
            raise ExpressionError(f"its result is too large (the limit is {self._limits.output} characters of JSON)")

    def text(self, length: int) -> None:
        """Charge for a text of `length` characters about to be made."""
        if length > MAX_TEXT:
            raise ExpressionError(f"it would make a text of {_count(length)} characters (the limit is {MAX_TEXT})")
        self.spend(length)

    def items(self, count: int) -> None:
        """Charge for a list of `count` elements about to be made."""
        if count > MAX_RANGE:
            raise ExpressionError(f"it would make a list of {_count(count)} elements (the limit is {MAX_RANGE})")
        self.spend(count * ITEM)

    def touch(self, value: Any) -> None:
        """Charge for reading `value` without what is inside its elements."""
        self.spend(shallow(value))

    def weigh(self, value: Any) -> None:
        """Charge for reading all of `value`, as often as each part is found in it."""
        if type(value) in _FLAT:
            self.spend(shallow(value))
            return
        stack = [value]
        cost = 0
        while stack:
            part = stack.pop()
            cost += shallow(part) + _VISIT
            if cost > _BATCH:
                self.spend(cost)
                cost = 0
            if type(part) in _FLAT:
                continue
            if isinstance(part, list | tuple):
                stack += part
            elif isinstance(part, Mapping):
                stack += part
                stack += part.values()
        self.spend(cost)

    def copy(self, size: int) -> None:
        """Charge for copying a value with `size` characters of JSON text."""
        self.spend(8 * size)


def shallow(value: Any) -> int:
    """The size of `value` in units of work: bytes of a text, a few for an element, 1 for anything else."""
    kind = type(value)
    if kind is str:
        return len(value) if value.isascii() else 4 * len(value)
    if kind is list or kind is dict or (kind not in _FLAT and isinstance(value, list | tuple | str | Mapping)):
        return _READ * len(value) + 1
    return 1


def _count(number: int) -> str:
    return str(number) if number < 10**15 else "10^15 or more"
