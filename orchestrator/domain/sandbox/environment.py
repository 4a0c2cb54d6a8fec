"""Jinja's sandbox, closed further: it looks up keys and elements only, and calls nothing but our tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from orchestrator.domain.sandbox.filters import FILTERS, TESTS, call_filter, call_test
from orchestrator.domain.sandbox.lookup import part
from orchestrator.domain.sandbox.missing import Missing


class Sandbox(ImmutableSandboxedEnvironment):
    """Parses expressions, and is what Jinja's own filters reach for when they look something up."""

    def __init__(self) -> None:
        super().__init__(undefined=Missing, cache_size=0, optimized=False)
        self.globals.clear()
        self.filters = dict(FILTERS)
        self.tests = dict(TESTS)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return False

    def is_safe_callable(self, obj: Any) -> bool:
        return False

    def getattr(self, obj: Any, attribute: str) -> Any:
        return part(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return part(obj, argument)

    def call_filter(
        self,
        name: str,
        value: Any,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        context: Any = None,
        eval_ctx: Any = None,
    ) -> Any:
        return call_filter(context, name, value, list(args or ()), dict(kwargs or {}))

    def call_test(
        self,
        name: str,
        value: Any,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        context: Any = None,
        eval_ctx: Any = None,
    ) -> Any:
        return call_test(context, name, value, list(args or ()), dict(kwargs or {}))


SANDBOX = Sandbox()


def parse(source: str) -> nodes.Expr:
    """The tree of one expression. Raises `TemplateSyntaxError`."""
    parser = Parser(SANDBOX, source, state="variable")
    tree = parser.parse_expression()
    if not parser.stream.eos:
        found = parser.stream.current
        raise TemplateSyntaxError(f"'{found.value!s:.40}' is not expected here", found.lineno)
    return tree
