"""Writes docs/functions.md, what expressions may call, with what the engine makes of examples: `make docs`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from orchestrator.domain.expressions import compile_template
from orchestrator.domain.sandbox.filters import FILTERS, TESTS
from orchestrator.domain.sandbox.functions import FUNCTIONS
from orchestrator.domain.sandbox.methods import LIST, MAP, TEXT

SCOPE = {
    "word": "ada",
    "text": "the bank is away",
    "rows": [{"id": 1, "paid": True}, {"id": 2, "paid": False}, {"id": 3, "paid": True}],
    "list": [3, 1, 2, 1],
    "map": {"b": 1, "a": 2},
    "number": 3.7,
}
_FUNCTIONS = {
    "now": "",
    "range": "range(1, 4)",
    "dict": "dict(a=1)",
    "fromjson": "fromjson('[1, 2]')",
    "tojson": "tojson(map)",
    "jmespath": "jmespath(rows, '[?paid].id')",
}
_FILTERS = {
    "abs": "-3 | abs",
    "batch": "list | batch(3) | list",
    "capitalize": "word | capitalize",
    "center": "word | center(7)",
    "count": "list | count",
    "default": "map.c | default('none')",
    "dictsort": "map | dictsort",
    "escape": "'<b>' | escape",
    "filesizeformat": "123456 | filesizeformat",
    "first": "list | first",
    "float": "'1.5' | float",
    "forceescape": "'<b>' | forceescape",
    "format": "'%s owes %d' | format(word, 7)",
    "fromjson": "'{\"a\": 1}' | fromjson",
    "groupby": "rows | groupby('paid') | map('first') | list",
    "indent": "'a\\nb' | indent(2)",
    "int": "'12' | int",
    "items": "map | items | list",
    "jmespath": "rows | jmespath('[].id')",
    "join": "list | join(', ')",
    "last": "list | last",
    "length": "text | length",
    "list": "word | list",
    "lower": "'ADA' | lower",
    "map": "rows | map(attribute='id') | list",
    "max": "list | max",
    "min": "list | min",
    "random": "",
    "reject": "list | reject('odd') | list",
    "rejectattr": "rows | rejectattr('paid') | list",
    "replace": "text | replace('bank', 'shop')",
    "reverse": "list | reverse | list",
    "round": "number | round",
    "select": "list | select('gt', 1) | list",
    "selectattr": "rows | selectattr('paid') | map(attribute='id') | list",
    "slice": "list | slice(2) | list",
    "sort": "list | sort",
    "string": "12 | string",
    "striptags": "'<b>a</b>' | striptags",
    "sum": "rows | sum(attribute='id')",
    "title": "text | title",
    "tojson": "map | tojson",
    "trim": "'  a ' | trim",
    "truncate": "text | truncate(11)",
    "unique": "list | unique | list",
    "upper": "word | upper",
    "urlencode": "'a b&c' | urlencode",
    "wordcount": "text | wordcount",
    "wordwrap": "text | wordwrap(8)",
}
_ALIASES = {"d": "default", "e": "escape"}

PAGE = """\
# Functions and filters

What [expressions](expressions.md) may call. Made by `make docs` from the tables of the engine: each value on the
right is what it gives for the text on the left, with these values in scope:

```yaml
{scope}
```

## Functions

| | gives |
|---|---|
{functions}

## Filters

`{aliases}` are short for others. Where a filter gives what is read once, `| list` makes a list of it.

| | gives |
|---|---|
{filters}

## Tests

Behind `is` and `is not`, and by name in `select`, `reject`, `selectattr` and `rejectattr`:

{tests}

## Methods

Of text: {text}.

Of maps: {map}. Of lists: {list}.
"""


def page() -> str:
    """The whole page. An engine with a name that has no example fails here."""
    assert set(_FUNCTIONS) == set(FUNCTIONS)
    assert set(_FILTERS) | set(_ALIASES) == set(FILTERS)
    return PAGE.format(
        scope="\n".join(f"{name}: {json.dumps(value)}" for name, value in SCOPE.items()),
        functions=_table(
            _FUNCTIONS, {"now": "`now()` | the time by the database's clock, ISO 8601; the same within a transaction"}
        ),
        filters=_table(_FILTERS, {"random": "`list \\| random` | one element by chance"}),
        aliases="`, `".join(f"{short}` for `{name}" for short, name in _ALIASES.items()),
        tests=_listed(TESTS),
        text=_listed(TEXT),
        map=_listed(MAP),
        list=_listed(LIST),
    )


def _table(examples: Mapping[str, str], told: Mapping[str, str]) -> str:
    return "\n".join(
        f"| {told[name]} |" if not text else f"| `{_cell(text)}` | `{_cell(_value(text))}` |"
        for name, text in examples.items()
    )


def _value(text: str) -> str:
    return json.dumps(compile_template(f"{{{{ {text} }}}}").render(SCOPE), ensure_ascii=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


if __name__ == "__main__":
    Path(__file__).with_name("functions.md").write_text(page())
