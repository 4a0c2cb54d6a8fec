"""Inputs and variables of a workflow: where each name of its context is here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.convert.inline import named_values
from orchestrator.convert.marks import has_expression
from orchestrator.convert.printing import shown
from orchestrator.convert.report import Report
from orchestrator.convert.scope import INPUT, VARS, Scope
from orchestrator.convert.source import input_schema
from orchestrator.convert.syntax import Const, Filter, Node, Part, Untranslatable
from orchestrator.convert.templates import Templates


@dataclass(frozen=True, slots=True)
class Context:
    """`scope` knows every name; `document` has `input_schema` and `vars`."""

    scope: Scope
    document: dict[str, Any]


def given_vars(value: Any, report: Report) -> list[tuple[str, Any]]:
    """First values of variables."""
    return named_values(value, ("vars",), report)


def context_of(
    scope: Scope,
    inputs: Mapping[str, Any],
    variables: Sequence[tuple[str, Any]],
    published: Iterable[str],
    report: Report,
    parameters: Mapping[str, Any] | None = None,
) -> Context:
    """The context of a workflow. `inputs`: names with defaults, `...` without one; a name that is published, or has a
    default that is worked out, is a variable."""
    known = {**dict.fromkeys(parameters or ()), **inputs}
    scope = replace(scope, variables={name: Part(INPUT, Const(name)) for name in known})
    first: dict[str, Any] = {}
    computed = {name: default for name, default in inputs.items() if has_expression(default)}
    for name, value in [*computed.items(), *variables]:
        place = ("input" if name in computed else "vars", name)
        templates = Templates(report, scope)
        first[name] = _computed(templates, name, value, place) if name in computed else templates.value(value, place)
        scope = replace(scope, variables=_seen(templates, name, value, name in computed))
    for name in dict.fromkeys(published):
        if name not in first:
            first[name] = "{{ " + shown(Part(INPUT, Const(name))) + " }}" if name in known else None
    names = {name: Part(VARS if name in first else INPUT, Const(name)) for name in [*known, *first]}
    document = _schema(inputs, computed, parameters, report) | ({"vars": first} if first else {})
    return Context(replace(scope, variables=names), document)


def _computed(templates: Templates, name: str, value: Any, place: tuple[str, str]) -> Any:
    try:
        return "{{ " + shown(_defaulted(name, templates.inline(value))) + " }}"
    except Untranslatable as error:
        return "{{ " + templates.given_up(str(value), place, str(error)) + " }}"


def _defaulted(name: str, default: Node) -> Node:
    return Filter(Part(INPUT, Const(name)), "default", (default,))


def _seen(templates: Templates, name: str, value: Any, computed: bool) -> dict[str, Node]:
    """The names with what stands for this one in values behind it, which are set at the same moment."""
    others = {key: node for key, node in templates.scope.variables.items() if key != name}
    try:
        node = templates.inline(value)
    except Untranslatable:
        return others
    return others | {name: _defaulted(name, node) if computed else node}


def _schema(
    inputs: Mapping[str, Any], computed: Mapping[str, Any], parameters: Mapping[str, Any] | None, report: Report
) -> dict[str, Any]:
    if parameters:
        return input_schema(parameters, report)
    required = [name for name, default in inputs.items() if default is ...]
    properties = {
        name: {} if default is ... or name in computed else {"default": default} for name, default in inputs.items()
    }
    if not properties:
        return {}
    return {
        "input_schema": {"type": "object", **({"required": required} if required else {}), "properties": properties}
    }
