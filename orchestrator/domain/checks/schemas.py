"""Whether `input_schema` and `output_schema` are schemas that can be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from orchestrator.domain.checks.findings import Draft, Findings
from orchestrator.domain.json_schema.budget import TooCostly
from orchestrator.domain.json_schema.compiled import Compiled
from orchestrator.domain.json_schema.malformed import malformed
from orchestrator.domain.json_schema.patterns import pattern_fault
from orchestrator.domain.json_schema.references import REFERENCES, everything, inside
from orchestrator.domain.paths import child, join, quoted
from orchestrator.errors import Problem

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Schemas that hold for the same value: a loop of these never ends.
_SAME_VALUE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
_MOST_PROBLEMS = 20
_MOST_PARTS = 10_000


def check_schemas(draft: Draft, findings: Findings) -> None:
    """Both schemas of the document."""
    definition = draft.definition
    for key, schema in (("input_schema", definition.input_schema), ("output_schema", definition.output_schema)):
        if schema is not None:
            for problem in schema_problems(schema, key):
                findings.add(problem.path, problem.message, problem.hint)


def schema_problems(schema: Mapping[str, Any], path: str) -> list[Problem]:
    """What is wrong with a schema, by path; the first twenty things."""
    parts = sum(1 for _ in islice(everything(schema), _MOST_PARTS + 1))
    if parts > _MOST_PARTS:
        return [Problem(path, f"the schema holds more than {_MOST_PARTS} schemas")]
    try:
        found = _malformed(schema, path) or list(_unusable(schema, path)) or list(_bad_defaults(schema, path))
    except RecursionError:
        return [Problem(path, "the schema is nested too deeply to be checked")]
    return found[:_MOST_PROBLEMS]


def _malformed(schema: Mapping[str, Any], path: str) -> list[Problem]:
    dialect = schema.get("$schema", _DIALECT)
    if isinstance(dialect, str) and dialect.rstrip("#") != _DIALECT:
        return [Problem(child(path, "$schema"), "only JSON Schema 2020-12 is understood", "leave it out")]
    return [Problem(join(keys, path), message) for keys, message in malformed(schema)]


def _unusable(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    ready = Compiled(schema)
    parts = list(everything(ready.schema))
    known = {id(part) for _, part in parts}
    for keys, part in parts:
        if isinstance(part, dict):
            place = join(keys, path)
            yield from _bad_names(part, place)
            yield from _bad_references(part, place, ready, known)
            yield from _bad_patterns(part, place)
    if _loops(ready):
        yield Problem(path, "a reference in the schema leads back to itself without going into the value")


def _bad_names(part: Mapping[str, Any], place: str) -> Iterator[Problem]:
    for key in ("$id", "$schema"):
        if key in part:
            yield Problem(child(place, key), f"'{key}' is understood at the top of the schema only")


def _bad_references(part: Mapping[str, Any], place: str, ready: Compiled, known: set[int]) -> Iterator[Problem]:
    for key in REFERENCES:
        if key not in part:
            continue
        reference = part[key]
        if not reference.startswith("#"):
            hint = "copy what it refers to into '$defs'"
            yield Problem(child(place, key), f"{quoted(reference)} is outside of this schema; nothing is fetched", hint)
            continue
        try:
            target = ready.resolve(reference)
        except LookupError:
            yield Problem(child(place, key), f"there is no {quoted(reference)} in this schema")
            continue
        if not isinstance(target, bool) and id(target) not in known:
            yield Problem(child(place, key), f"{quoted(reference)} is not a schema")


def _bad_patterns(part: Mapping[str, Any], place: str) -> Iterator[Problem]:
    patterns = [(child(place, "pattern"), part["pattern"])] if "pattern" in part else []
    named = child(place, "patternProperties")
    patterns += [(child(named, pattern), pattern) for pattern in part.get("patternProperties", ())]
    for at, pattern in patterns:
        fault = pattern_fault(pattern)
        if fault is not None:
            yield Problem(at, f"{quoted(pattern)} is not a regular expression: {fault}")


def _loops(ready: Compiled) -> bool:
    """Whether following schemas for the same value comes back to where it began (a depth-first search)."""
    done: set[int] = set()
    for _, start in everything(ready.schema):
        path: dict[int, Iterator[Any]] = {}
        if isinstance(start, dict) and id(start) not in done:
            path[id(start)] = _same_value(start, ready)
        while path:
            last = next(reversed(path))
            part = next(path[last], None)
            if part is None:
                done.add(last)
                del path[last]
            elif id(part) in path:
                return True
            elif id(part) not in done:
                path[id(part)] = _same_value(part, ready)
    return False


def _same_value(schema: Mapping[str, Any], ready: Compiled) -> Iterator[Any]:
    for key in REFERENCES:
        if key in schema:
            try:
                target = ready.resolve(schema[key])
            except LookupError:
                continue
            if isinstance(target, dict):
                yield target
    for keys, part in inside(schema):
        if keys[0] in _SAME_VALUE and isinstance(part, dict):
            yield part


def _bad_defaults(schema: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Defaults that the schema they stand in refuses."""
    ready = Compiled(schema)
    for keys, part in everything(ready.schema):
        if isinstance(part, dict) and "default" in part:
            place = child(join(keys, path), "default")
            try:
                value = ready.fill(part["default"], part)
            except TooCostly as error:
                yield Problem(place, str(error))
                continue
            for problem in ready.problems(value, place, part)[:1]:
                yield Problem(problem.path, f"its own schema refuses it: {problem.message}")
