"""`jmespath(value, query)`: JMESPath, every step of it charged."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions
from jmespath.parser import Parser
from jmespath.visitor import TreeInterpreter

from orchestrator.domain.sandbox.meter import Meter, shallow
from orchestrator.domain.sandbox.missing import refuse_missing
from orchestrator.domain.sandbox.words import kind, quote
from orchestrator.errors import ExpressionError

_LONGEST_QUERY = 4096
_FUNCTIONS = Functions()
_ORDERED = frozenset({int, float, str})


def jmespath(meter: Meter, value: Any, query: Any) -> Any:
    """What `query` finds in `value`; null when it finds nothing. Raises `ExpressionError`."""
    refuse_missing((value, query))
    if not isinstance(query, str):
        raise ExpressionError(f"a JMESPath query must be text, not {kind(query)}")
    if len(query) > _LONGEST_QUERY:
        raise ExpressionError(f"a JMESPath query may have at most {_LONGEST_QUERY} characters")
    try:
        return _Interpreter(meter).visit(_parsed(query), value)
    except JMESPathError as error:
        raise ExpressionError(f"the JMESPath query {quote(query)} fails: {_why(error)}") from error


def _why(error: JMESPathError) -> str:
    """A type error's own text shows the whole value, which can be endless."""
    if isinstance(error, JMESPathTypeError):
        return f"{error.function_name}() takes {' or '.join(error.expected_types)}, not {error.actual_type}"
    return str(error)[:500]


@lru_cache(maxsize=1024)
def _parsed(query: str) -> Any:
    return Parser().parse(query).parsed


class _Interpreter(TreeInterpreter):
    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        result = super().visit(node, *args, **kwargs)
        self._meter.spend(shallow(result) + 4)
        return result

    def visit_comparator(self, node: Any, value: Any) -> Any:
        left, right = (self.visit(child, value) for child in node["children"])
        compare = self.COMPARATOR_FUNC[node["value"]]
        if type(left) in _ORDERED and type(right) in _ORDERED:
            return compare(left, right)
        self._meter.weigh(left)
        self._meter.weigh(right)
        return compare(left, right) if node["value"] in ("eq", "ne") else None

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        arguments = [self.visit(child, value) for child in node["children"]]
        for argument in arguments:
            self._meter.weigh(argument)
        if node["value"] == "join":
            self._check_join(arguments)
        return _FUNCTIONS.call_function(node["value"], arguments)

    def _check_join(self, arguments: list[Any]) -> None:
        if len(arguments) == 2 and isinstance(arguments[0], str) and isinstance(arguments[1], list):
            self._meter.text(len(arguments[0]) * len(arguments[1]))
