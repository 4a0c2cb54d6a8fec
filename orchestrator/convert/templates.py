"""Texts with expressions of other engines as templates of ours.

What has no equal here becomes an expression that is right in form and fails when it is reached, saying what stood
there: nothing goes on with a wrong value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.convert.grammar import read
from orchestrator.convert.marks import Marked, has_expression, parts
from orchestrator.convert.printing import quoted, shown
from orchestrator.convert.report import Place, Report
from orchestrator.convert.scope import End, Scope, no_result_of_a_failure
from orchestrator.convert.syntax import Binary, Const, Node, Part, Untranslatable, size

_STATEMENTS = (("{%", "%}"), ("{#", "#}"))
_SHOWN = 80
_INLINED = 100  # parts of an expression that may stand in another
HINT = "write an expression of docs/expressions.md, or work it out in a step's function"


def absent(source: str) -> str:
    """An expression that fails when it is reached, saying what it stands for."""
    told = " ".join(source.split())
    told = told if len(told) <= _SHOWN else told[: _SHOWN - 3] + "..."
    return f"config[{quoted(f'not carried over: {told}')}]"


def literal(text: str) -> str:
    """A text that is to stay as it is."""
    return text.replace("{{", "{{ '{{' }}")


@dataclass(frozen=True, slots=True)
class Templates:
    """Translates values of one place. `step`: what findings are about."""

    report: Report
    scope: Scope
    step: str | None = None

    def value(self, value: Any, place: Place) -> Any:
        """Any JSON with templates, in ours."""
        if isinstance(value, str):
            return self.text(value, place)
        if isinstance(value, list):
            return [self.value(part, (*place, i)) for i, part in enumerate(value)]
        if isinstance(value, Mapping):
            return {key: self._entry(key, part, place) for key, part in value.items()}
        return value

    def _entry(self, key: str, part: Any, place: Place) -> Any:
        if has_expression(key):
            self.report.lost((*place, key), "keys are never templates here", "write the key out", step=self.step)
        return self.value(part, (*place, key))

    def text(self, text: str, place: Place) -> str:
        """A text with expressions between `<% %>` or `{{ }}`."""
        found = list(parts(text))
        if any(isinstance(part, str) and _is_statement(part) for part in found):
            return self._not_a_template(text, place)
        return "".join(
            literal(part) if isinstance(part, str) else "{{ " + self._expression(part, place) + " }}" for part in found
        )

    def _not_a_template(self, text: str, place: Place) -> str:
        self.report.lost(place, "statements ({% %}) and comments are not part of templates", HINT, step=self.step)
        return "{{ " + absent(text[:_SHOWN]) + " }}"

    def _expression(self, found: Marked, place: Place) -> str:
        try:
            return shown(self.node(found.source))
        except Untranslatable as error:
            return self.given_up(found.text, place, str(error))

    def given_up(self, source: str, place: Place, why: str) -> str:
        """The expression in place of one that has no equal."""
        self.report.lost(place, f"`{' '.join(source.split())[:_SHOWN]}`: {why}", HINT, step=self.step)
        return absent(source)

    def node(self, source: str) -> Node:
        """The tree of an expression, in our words; raises `Untranslatable`."""
        if source[:1] == "-" or source[-1:] == "-":
            source = source.strip("-")  # Jinja's white space control
        return self.rewritten(read(source))

    def rewritten(self, node: Node) -> Node:
        """A tree of theirs in our words; raises `Untranslatable`."""
        node = self.scope.rewrite(node)
        if self.scope.end is End.FAILURE:
            no_result_of_a_failure(node)
        return node

    def inline(self, value: Any) -> Node:
        """A value as an expression, to stand in the place of a variable's name. Raises `Untranslatable`."""
        if not isinstance(value, str):
            return _tree(value)
        nodes = [Const(part) if isinstance(part, str) else self.node(part.source) for part in parts(value)]
        node: Node = nodes[0] if nodes else Const("")
        for part in nodes[1:]:
            node = Binary("~", node, part)
        if size(node, _INLINED) > _INLINED:
            raise Untranslatable("it is too long to stand in another value")
        return node


def _is_statement(text: str) -> bool:
    return any(start in text and end in text for start, end in _STATEMENTS)


def _tree(value: Any) -> Node:
    if isinstance(value, list | dict):
        raise Untranslatable("a list or a map that is used within the same list of variables")
    return Const(value)


def variable(name: str) -> Node:
    """The run's variable of this name."""
    return Part(_VARS, Const(name))


_VARS = read("vars")
