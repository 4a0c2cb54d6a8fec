"""A schema ready to check values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, validators
from referencing import Registry

from orchestrator.domain.json_schema.budget import TooCostly, budget
from orchestrator.domain.json_schema.fill import filled
from orchestrator.domain.json_schema.formats import CHECKER
from orchestrator.domain.json_schema.keywords import KEYWORDS, resolver
from orchestrator.domain.json_schema.messages import problem_of
from orchestrator.domain.json_schema.references import anchors, everything, resolve
from orchestrator.errors import Problem

_CACHED = 512
_MOST_PROBLEMS = 100
# Without a `retrieve` nothing is ever fetched.
_NOWHERE: Registry[Any] = Registry()

_extend: Any = validators.extend
_Validator: Any = _extend(Draft202012Validator, KEYWORDS)
# They would make `jsonschema` choose another validator, or another place to look references up in.
_LEFT_OUT = ("$schema", "$id")


class Compiled:
    """A schema that was found to be valid. Everything it refers to is in itself."""

    def __init__(self, schema: Any) -> None:
        self.schema = {k: v for k, v in schema.items() if k not in _LEFT_OUT} if isinstance(schema, dict) else schema
        self._anchors = anchors(self.schema)
        self._has_defaults = any("default" in part for _, part in everything(schema) if isinstance(part, dict))
        self._validator = _Validator(self.schema, registry=_NOWHERE, format_checker=CHECKER)

    def resolve(self, reference: str) -> Any:
        """What a reference points to; raises `LookupError`."""
        return resolve(self.schema, self._anchors, reference)

    def fill(self, value: Any, part: Any = None) -> Any:
        """A copy of `value` with the defaults of the schema, or of a part of it; raises `TooCostly`.

        Where the schema has no defaults this is the value itself.
        """
        if not self._has_defaults:
            return value
        with self._checking():
            return filled(self.schema if part is None else part, value, self.resolve)

    def problems(self, value: Any, path: str, part: Any = None) -> list[Problem]:
        """What the schema, or a part of it, refuses about `value`, by path; the first hundred."""
        validator = self._validator if part is None else self._validator.evolve(schema=part)
        try:
            with self._checking():
                return [problem_of(error, path) for error in islice(validator.iter_errors(value), _MOST_PROBLEMS)]
        except TooCostly as error:
            return [Problem(path, str(error))]

    @contextmanager
    def _checking(self) -> Iterator[None]:
        reset = resolver.set(self.resolve)
        try:
            with budget():
                yield
        finally:
            resolver.reset(reset)


def compiled(schema: Mapping[str, Any]) -> Compiled:
    """The schema, ready; equal ones are prepared once."""
    return _compiled(json.dumps(schema, ensure_ascii=False))


@lru_cache(maxsize=_CACHED)
def _compiled(text: str) -> Compiled:
    return Compiled(json.loads(text))
