"""`with` of Orquesta: what a task is done for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.convert.grammar import read
from orchestrator.convert.marks import whole
from orchestrator.convert.printing import shown
from orchestrator.convert.report import Place
from orchestrator.convert.scope import ITEM
from orchestrator.convert.syntax import Call, Const, Filter, Many, Name, Node, Part, Untranslatable
from orchestrator.convert.templates import Templates

_NAMED = re.compile(r"\s*([\w, ]+?)\s+in\s+(.*)", re.DOTALL)
_INDEX = Name("index")


def with_items(value: Any, place: Place, templates: Templates) -> tuple[dict[str, Any], dict[str, Node]]:
    """`with_items` of the step, and what the names of its items are."""
    if value is None:
        return {}, {}
    more: dict[str, Any] = {}
    if isinstance(value, Mapping):
        templates.report.unknown(value, ("items", "concurrency"), place, templates.step)
        more = _concurrency(value.get("concurrency"), (*place, "concurrency"), templates)
        value, place = value.get("items"), (*place, "items")
    items, names = _items(value, place, templates)
    return {"with_items": {"items": items, **more} if more else items}, names


def _concurrency(value: Any, place: Place, templates: Templates) -> dict[str, Any]:
    if isinstance(value, str) and value.strip().isdigit():
        value = int(value)
    if isinstance(value, int):
        return {"concurrency": value}
    if value is not None:
        templates.report.lost(place, f"'{value}' is no number", "write a number", step=templates.step)
    return {}


def _items(value: Any, place: Place, templates: Templates) -> tuple[Any, dict[str, Node]]:
    named = _NAMED.fullmatch(value) if isinstance(value, str) and not value.lstrip().startswith(("<%", "{{")) else None
    if named is None:
        return templates.value(value, place), {}
    names = [name.strip() for name in named.group(1).split(",")]
    if len(names) == 1:
        return templates.text(named.group(2).strip(), place), {names[0]: ITEM}
    return _zipped(names, named.group(2).strip(), place, templates)


def _zipped(names: list[str], text: str, place: Place, templates: Templates) -> tuple[Any, dict[str, Node]]:
    """`a, b in <% zip(x, y) %>`: the items are places, by which both lists are read."""
    try:
        node = read(whole(text) or "")
        if not isinstance(node, Call) or node.function != Name("zip"):
            items = templates.text(text, place)
            return items, {name: Part(ITEM, Const(i)) for i, name in enumerate(names)}
        lists = [templates.rewritten(arg) for arg in node.args]
    except Untranslatable as error:
        return "{{ " + templates.given_up(text, place, str(error)) + " }}", {}
    shortest = Filter(Many(tuple(Filter(one, "length") for one in lists)), "min")
    items = "{{ " + shown(Call(Name("range"), (shortest,))) + " }}"
    return items, {name: Part(one, _INDEX) for name, one in zip(names, lists, strict=False)}
