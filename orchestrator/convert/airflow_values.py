"""Python expressions of a DAG file that are static, without running them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from orchestrator.convert.airflow_model import Code, Moment, Output, Seconds

_UNITS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
_SIZES = (86400, 1, 1e-6, 1e-3, 60, 3600, 604800)
_MOST = 1000  # elements that are made by `*`, `range` and the like
_MOST_PARTS = 5000  # of a value
_LETTERS = 100  # of a text that count as one part
_MOMENTS = ("datetime", "DateTime", "today", "now")


def code(node: ast.AST) -> Code:
    """What only running it would tell."""
    return Code(ast.unparse(node)[:500], getattr(node, "lineno", None))


def static(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    """The value, as far as it is written out; `Code` where it is not."""
    if node is None or isinstance(node, ast.Constant):
        return _constant(node)
    if isinstance(node, ast.Name):
        return names.get(node.id, code(node))
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return _elements(node, names)
    if isinstance(node, ast.Dict):
        return _map(node, names)
    if isinstance(node, ast.JoinedStr):
        return _joined(node, names)
    if isinstance(node, ast.UnaryOp | ast.BinOp):
        return _worked_out(node, names)
    if isinstance(node, ast.Attribute):
        return _attribute(node, names)
    if isinstance(node, ast.Subscript):
        return _subscript(node, names)
    return _call(node, names) if isinstance(node, ast.Call) else code(node)


def bounded(value: Any, node: ast.AST) -> Any:
    """The value, unless it has grown too large: what is written out is not."""
    count, left = 0, [value]
    while left and count <= _MOST_PARTS:
        part = left.pop()
        count += 1 + (len(part) // _LETTERS if isinstance(part, str) else 0)
        left += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return value if count <= _MOST_PARTS else code(node)


def _constant(node: ast.Constant | None) -> Any:
    if node is None:
        return None
    return node.value if isinstance(node.value, str | int | float | None) else code(node)


def _elements(node: ast.List | ast.Tuple | ast.Set, names: Mapping[str, Any]) -> Any:
    found: list[Any] = []
    for part in node.elts:
        value = static(part.value if isinstance(part, ast.Starred) else part, names)
        if isinstance(part, ast.Starred) and not isinstance(value, list):
            return code(node)
        found += value if isinstance(part, ast.Starred) else [value]
    return bounded(found, node)


def _map(node: ast.Dict, names: Mapping[str, Any]) -> Any:
    found: dict[str, Any] = {}
    for key, part in zip(node.keys, node.values, strict=True):
        value = static(part, names)
        if key is None:
            if not isinstance(value, dict):
                return code(node)
            found |= value
            continue
        name = static(key, names)
        if not isinstance(name, str | int):
            return code(node)
        found[str(name)] = value
    return bounded(found, node)


def _joined(node: ast.JoinedStr, names: Mapping[str, Any]) -> Any:
    parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
    values = [_pulled(value) if isinstance(value := static(part, names), Output) else value for part in parts]
    plain = all(isinstance(value, str | int | float) for value in values)
    formatted = any(isinstance(p, ast.FormattedValue) and (p.format_spec or p.conversion != -1) for p in node.values)
    return bounded("".join(map(str, values)), node) if plain and not formatted else code(node)


def _pulled(value: Output) -> Any:
    """The template that an output is within a text."""
    key = f", key={value.keys[0]!r}" if value.keys else ""
    return f"{{{{ ti.xcom_pull(task_ids={value.task!r}{key}) }}}}" if len(value.keys) < 2 else value


def _worked_out(node: ast.UnaryOp | ast.BinOp, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.UnaryOp):
        value = static(node.operand, names)
        if isinstance(node.op, ast.Not):
            return not value if isinstance(value, bool) else code(node)
        known = isinstance(node.op, ast.USub) and isinstance(value, int | float)
        return -value if known else code(node)
    left, right = static(node.left, names), static(node.right, names)
    if isinstance(node.op, ast.Add) and type(left) is type(right) and isinstance(left, str | int | float | list):
        return bounded(left + right, node)
    number = isinstance(left, int | float) and isinstance(right, int | float)
    if isinstance(node.op, ast.Mult) and number and abs(left) < 10**9 and abs(right) < 10**9:
        return left * right
    if isinstance(node.op, ast.Sub) and number:
        return left - right
    if isinstance(node.op, ast.Div) and number and right:
        return left / right
    return code(node)


def _attribute(node: ast.Attribute, names: Mapping[str, Any]) -> Any:
    whole = node.value
    if (isinstance(whole, ast.Name) and whole.id == "TriggerRule") or ast.unparse(whole).endswith("TriggerRule"):
        return node.attr.lower()
    value = static(whole, names)
    if node.attr == "output" and hasattr(value, "upstream"):
        return Output(value.id)
    return code(node)


def _subscript(node: ast.Subscript, names: Mapping[str, Any]) -> Any:
    value, key = static(node.value, names), static(node.slice, names)
    if isinstance(value, Output) and isinstance(key, str | int):
        return Output(value.task, (*value.keys, key))
    if isinstance(value, dict) and isinstance(key, str | int) and str(key) in value:
        return value[str(key)]
    if isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
        return value[key]
    return code(node)


def _call(node: ast.Call, names: Mapping[str, Any]) -> Any:
    name = called_name(node)
    if name == "timedelta" or name == "duration":
        return _timedelta(node, names)
    if name in _MOMENTS and name not in ("today", "now"):
        return _moment(node, names)
    if name in ("dedent", "cleandoc") and len(node.args) == 1:
        text = static(node.args[0], names)
        return inspect.cleandoc(text) if isinstance(text, str) else code(node)
    if name == "range" and node.args and not node.keywords:
        return _range([static(arg, names) for arg in node.args], node)
    if name == "list" and len(node.args) == 1 and isinstance(value := static(node.args[0], names), list):
        return value
    if name == "Param" or name == "ParamsDict":
        return _param(node, names)
    if name == "Label":
        return []
    return code(node)


def called_name(node: ast.Call) -> str:
    """The last part of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _timedelta(node: ast.Call, names: Mapping[str, Any]) -> Any:
    sizes = dict(zip(_UNITS, _SIZES, strict=True))
    given = list(zip(_UNITS, node.args, strict=False)) + [(word.arg, word.value) for word in node.keywords]
    total = 0.0
    for unit, part in given:
        value = static(part, names)
        if unit not in sizes or not isinstance(value, int | float):
            return code(node)
        total += sizes[unit] * value
    return Seconds(total)


def _moment(node: ast.Call, names: Mapping[str, Any]) -> Any:
    values = [static(arg, names) for arg in node.args]
    if not 3 <= len(values) <= 6 or not all(isinstance(value, int) for value in values):
        return code(node)
    parts = [*values, 0, 0, 0][:6]
    zones = [static(word.value, names) for word in node.keywords if word.arg == "tz"]
    zone = zones[0] if zones and isinstance(zones[0], str) else None
    text = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*parts)
    return Moment(text + ("Z" if zone in (None, "UTC") else ""), zone)


def _range(values: list[Any], node: ast.Call) -> Any:
    if not all(isinstance(value, int) for value in values) or len(values) > 3 or 0 in values[2:]:
        return code(node)
    found = range(*values)
    return list(found) if len(found) <= _MOST else code(node)


def _param(node: ast.Call, names: Mapping[str, Any]) -> Any:
    """A parameter with its schema, as Airflow serializes it."""
    given = {word.arg: static(word.value, names) for word in node.keywords if word.arg is not None}
    default = static(node.args[0], names) if node.args else given.pop("default", None)
    if isinstance(default, Code) or any(isinstance(value, Code) for value in given.values()):
        return code(node)
    return {"__class": "Param", "default": default, "schema": {k: v for k, v in given.items() if k not in _PARAM}}


_PARAM = ("description_md", "section", "custom_html_form", "values_display", "source", "default")
