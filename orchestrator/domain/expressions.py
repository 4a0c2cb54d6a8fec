"""Templates and expressions (docs/expressions.md).

A *template* is any JSON value; its texts, at any depth, may hold expressions in `{{ }}`. Keys are not templates.
A text that is exactly one expression keeps the type of its value; in any other text an expression becomes text:
text as it is, everything else as JSON (`true`, `null`, `[1, 2]`). `{%` and `{#` are plain text; the two characters
`{{` themselves are written `{{ '{{' }}`. An *expression* (`when`, `retry.while`) may be in braces or not.

The language is Jinja's: its grammar, operators, filters and tests, in its sandbox, with these differences.

- `a.b` and `a['b']` find keys of maps, `a[0]` elements of lists; there are no Python attributes. So `input.items` is
  the key. Methods exist in calls only (`input.items()`): those of text that make text, `items`, `keys`, `values` and
  `get` of maps, `index` and `count` of lists.
- What is missing is an error that says what there is. `is defined` and `default()` work.
- Filters and tests give lists, not generators. `~`, `join` and `string` write values as JSON does.
- Functions: `now()`, `range()`, `dict()`, `fromjson()`, `tojson()`, `jmespath()`; the last three are filters too.
  Left out are the filters `attr`, `pprint`, `safe`, `urlize`, `xmlattr`, and white space control (`{{-`).
- Everything made and read is charged against `Limits`, before it is made.

Safe to use from several threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from jinja2.exceptions import TemplateError

from orchestrator.domain.sandbox.compiler import Evaluate, build
from orchestrator.domain.sandbox.environment import SANDBOX
from orchestrator.domain.sandbox.meter import Limits, Meter
from orchestrator.domain.sandbox.missing import joined
from orchestrator.domain.sandbox.plain import plain, text_of
from orchestrator.domain.sandbox.rules import Evaluation
from orchestrator.domain.sandbox.syntax import References, read, references, split, unwrap, words
from orchestrator.domain.values import MAX_DEPTH, clean_text
from orchestrator.errors import ExpressionError

__all__ = [
    "LIMITS",
    "SCOPE_ROOTS",
    "Expression",
    "Limits",
    "References",
    "Template",
    "compile_expression",
    "compile_template",
    "read_expression",
    "read_template",
    "truthy",
    "words",
]

SCOPE_ROOTS = frozenset(
    {"input", "vars", "steps", "item", "index", "result", "error", "attempt", "run", "config", "secrets"}
)
LIMITS = Limits()
NO_REFERENCES = References()

# What evaluating may raise. Nothing else is caught: an attempt's timeout, say, goes its own way.
_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ExpressionError,
    LookupError,
    MemoryError,
    RecursionError,
    TemplateError,
    TypeError,
    ValueError,
)
_CACHED = 4096
_MAX_EXPRESSIONS = 1000  # in one text
_SHOWN = 200  # characters of an expression in a message


@dataclass(frozen=True, slots=True)
class Expression:
    """One compiled expression; `source` is its text without braces."""

    source: str
    references: References
    _evaluate: Evaluate

    def evaluate(self, scope: Mapping[str, Any], limits: Limits = LIMITS) -> Any:
        """Its value over `scope`, as plain JSON. Raises `ExpressionError`.

        `scope` maps names of `SCOPE_ROOTS` to JSON values; `now()` gives its key `__now__` (a datetime or text).
        """
        return self.value(Evaluation(scope, Meter(limits), SANDBOX))

    def value(self, ev: Evaluation) -> Any:
        """Its value as a part of a larger rendering."""
        try:
            return plain(self._evaluate(ev), ev.meter.emit)
        except _FAULTS as error:
            raise _named(self.source, error) from error

    def text(self, ev: Evaluation) -> str:
        """Its value as it stands in a text."""
        try:
            return text_of(plain(self._evaluate(ev), ev.meter.emit), ev.meter)
        except _FAULTS as error:
            raise _named(self.source, error) from error


def truthy(value: Any) -> bool:
    """Whether a condition's value is true: all but null, false, 0, "" and empty lists and maps.

    So the texts "false", "no" and "0" are true: a condition on a text compares it (`vars.flag == 'yes'`).
    """
    return bool(value)


def compile_expression(text: str) -> Expression:
    """The expression `text`, bare or in `{{ }}`. Raises `ExpressionError`; equal texts are compiled once."""
    return _compiled(unwrap(text))


def read_expression(text: str) -> References:
    """The names a bare expression uses, without making what evaluates it. Raises `ExpressionError`."""
    return _read(unwrap(text))


def read_template(text: str) -> References:
    """The same for a text with expressions in it."""
    return _union([_read(piece) for is_source, piece in _pieces(text) if is_source])


def _read(source: str) -> References:
    try:
        return references(read(source))
    except (ExpressionError, RecursionError) as error:
        raise _named(source.strip(), error) from error


@lru_cache(maxsize=_CACHED)
def _compiled(source: str) -> Expression:
    stripped = source.strip()
    try:
        tree = read(source)
        return Expression(stripped, references(tree), build(tree))
    except (ExpressionError, RecursionError) as error:
        raise _named(stripped, error) from error


Render = Callable[[Evaluation], Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled template. `constant`: it has no expressions, and `render` gives the value itself."""

    value: Any
    references: References
    _render: Render | None

    @property
    def constant(self) -> bool:
        return self._render is None

    def render(self, scope: Mapping[str, Any], limits: Limits = LIMITS) -> Any:
        """The value with its expressions replaced by theirs; `scope` as for `Expression.evaluate`.

        Raises `ExpressionError`, which says where in the value the expression stands. `limits` hold for all of it.
        """
        if self._render is None:
            return self.value
        return self._render(Evaluation(scope, Meter(limits), SANDBOX))


# Where a part stands: its container's place, and its key or index there.
_Place = tuple["_Place | None", Any]


def compile_template(value: Any) -> Template:
    """The template `value`, any JSON. Raises `ExpressionError` for the first text that cannot be compiled."""
    if isinstance(value, str) and "{{" not in value:
        return Template(value, NO_REFERENCES, None)
    used: list[References] = []
    render = _build(value, None, 0, used)
    return Template(value, _union(used), render)


def _union(used: list[References]) -> References:
    if len(used) == 1:
        return used[0]
    together = NO_REFERENCES
    for one in used:
        together |= one
    return together


def _build(value: Any, place: _Place | None, depth: int, used: list[References]) -> Render | None:
    """What renders `value`; None when there is nothing to render in it."""
    if isinstance(value, str):
        return _leaf(value, place, used) if "{{" in value else None
    if not isinstance(value, dict | list | tuple):
        return None
    if depth >= MAX_DEPTH:
        raise ExpressionError(f"a template may be nested at most {MAX_DEPTH} levels deep")
    if isinstance(value, dict):
        return _map({key: (item, _build(item, (place, key), depth + 1, used)) for key, item in value.items()})
    return _list([(item, _build(item, (place, index), depth + 1, used)) for index, item in enumerate(value)])


def _map(parts: dict[Any, tuple[Any, Render | None]]) -> Render | None:
    if all(render is None for _, render in parts.values()):
        return None
    return lambda ev: {key: item if render is None else render(ev) for key, (item, render) in parts.items()}


def _list(parts: list[tuple[Any, Render | None]]) -> Render | None:
    if all(render is None for _, render in parts):
        return None
    return lambda ev: [item if render is None else render(ev) for item, render in parts]


def _leaf(text: str, place: _Place | None, used: list[References]) -> Render:
    try:
        references, render = _compiled_text(text)
    except ExpressionError as error:
        raise _placed(place, error) from error
    used.append(references)
    if place is None:
        return render

    def placed(ev: Evaluation) -> Any:
        try:
            return render(ev)
        except ExpressionError as error:
            raise _placed(place, error) from error

    return placed


@lru_cache(maxsize=_CACHED)
def _compiled_text(text: str) -> tuple[References, Render]:
    pieces = [_compiled(piece) if is_source else piece for is_source, piece in _pieces(text)]
    expressions = [piece for piece in pieces if isinstance(piece, Expression)]
    if len(pieces) == 1 and expressions:
        return expressions[0].references, expressions[0].value

    def render(ev: Evaluation) -> str:
        texts = [piece if isinstance(piece, str) else piece.text(ev) for piece in pieces]
        ev.meter.text(sum(map(len, texts)))
        return "".join(texts)

    used = _union([expression.references for expression in expressions])
    return replace(used, looked=used.outputs), render  # what stands in a text is looked into


def _pieces(text: str) -> list[tuple[bool, str]]:
    found = split(text)
    if sum(is_source for is_source, _ in found) > _MAX_EXPRESSIONS:
        raise ExpressionError(f"a text may hold at most {_MAX_EXPRESSIONS} expressions")
    return found


def _placed(place: _Place | None, error: ExpressionError) -> ExpressionError:
    return error if place is None else ExpressionError(f"at {_path(place)}: {error}")


def _path(place: _Place) -> str:
    container, part = place
    owner = None if container is None else _path(container)
    return f"{owner or ''}[{part}]" if isinstance(part, int) else joined(owner, part)


def _named(source: str, error: Exception) -> ExpressionError:
    shown = source if len(source) <= _SHOWN else f"{source[: _SHOWN - 3]}..."
    return ExpressionError(clean_text(f"`{{{{ {shown} }}}}`: {_why(error)}", 2000))


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return "it takes too much memory"
    return str(error) or type(error).__name__
