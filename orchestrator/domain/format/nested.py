"""Maps within a document, whose keys a marshmallow schema lists, and the list of steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from marshmallow import EXCLUDE, ValidationError, fields, validates_schema
from marshmallow import Schema as Marshmallow

from orchestrator.domain.format.fields import Name, Part
from orchestrator.domain.format.messages import NOT_A_MAP, NULL, Message, not_a, wrong
from orchestrator.domain.near import near_hint

# What the keys are called elsewhere.
_ELSEWHERE = {
    "needs": "depends_on",
    "after": "depends_on",
    "requires": "depends_on",
    "upstream": "depends_on",
    "if": "when",
    "condition": "when",
    "run_if": "when",
    "args": "input",
    "kwargs": "input",
    "with": "input",
    "parameters": "input",
    "task": "function",
    "action": "function",
    "uses": "function",
    "call": "function",
    "id": "name",
    "retries": "retry",
    "tasks": "steps",
    "jobs": "steps",
    "parallel": "depends_on",
    "variables": "vars",
}


class Strict(Marshmallow):
    """A map whose keys are all known. `about` says what it is, for messages."""

    class Meta:
        unknown = EXCLUDE  # the check below says more

    about = "the document"
    error_messages = {"type": NOT_A_MAP}

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _check_keys(self, data: Any, original_data: Any, **_: Any) -> None:
        if isinstance(original_data, Mapping):
            known = self.known()
            problems = {key: [self._unknown(key, known)] for key in original_data if key not in known}
            if problems:
                raise ValidationError(problems)

    @classmethod
    @cache
    def known(cls) -> dict[str, fields.Field[Any]]:
        """The fields by the key they have in a document."""
        return {field.data_key or name: field for name, field in cls._declared_fields.items()}

    def _unknown(self, key: str, known: Mapping[str, Any]) -> Message:
        return Message(f"there is no such key in {self.about}", lambda: _near_key(key, known))


def _near_key(key: str, known: Mapping[str, Any]) -> str:
    elsewhere = _ELSEWHERE.get(key)
    if elsewhere in known:
        return f"did you mean '{elsewhere}'?"
    return near_hint(key, known) or f"its keys are {', '.join(known)}"


class Map(fields.Nested):
    """A map with the keys of a `Strict` schema."""

    def __init__(self, schema: type[Strict], description: str, *, nullable: bool = True):
        super().__init__(
            schema, allow_none=nullable, metadata={"description": description}, error_messages={"null": NULL}
        )
        self.of = schema


class Edges(Part):
    """`depends_on`: a name, or a list of names and of maps with the keys of `schema`."""

    def __init__(self, schema: type[Strict], description: str):
        super().__init__(description)
        self.of = schema
        self._schema = schema()
        self._name = Name("")

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        edges = [value] if isinstance(value, str) else value
        if not isinstance(edges, list):
            raise not_a("a list of steps", value)
        right, problems = [], {}
        for index, edge in enumerate(edges):
            try:
                self._check_edge(edge)
                right.append(edge)
            except ValidationError as error:
                problems[index] = error.messages
        if problems:
            raise ValidationError(problems, valid_data=right)
        return value

    def _check_edge(self, edge: Any) -> None:
        if isinstance(edge, dict):
            self._schema.load(edge)
        elif isinstance(edge, str):
            self._name.check(edge)
        else:
            raise not_a("a step's name, or {step, on, when}", edge)


class Steps(Part):
    """The list of steps. Steps with the same keys are checked together: a schema asked for those keys only is far
    quicker than one that looks for all it knows."""

    _MOST_SCHEMAS = 100

    def __init__(self, schema: type[Strict], description: str):
        super().__init__(description, required=True)
        self.of = schema
        self._names = [(field.data_key or name, name) for name, field in schema._declared_fields.items()]

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        if not isinstance(value, list):
            raise not_a("a list of steps", value)
        if not value:
            raise wrong("must have at least one step")
        right: list[Any] = [step if isinstance(step, dict) else {} for step in value]
        problems: dict[int, Any] = {
            i: not_a("a map", s).messages for i, s in enumerate(value) if not isinstance(s, dict)
        }
        for keys, places in self._groups(value).items():
            self._check_group(keys, places, right, problems)
        if problems:
            raise ValidationError(problems, valid_data=right)
        return value

    def _groups(self, steps: list[Any]) -> dict[frozenset[str], list[int]]:
        """Where the steps stand that have the same keys; steps of rare keys are together, under no keys."""
        groups: dict[frozenset[str], list[int]] = {}
        for index, step in enumerate(steps):
            if isinstance(step, dict):
                keys = frozenset(step)
                if keys not in groups and len(groups) >= self._MOST_SCHEMAS:
                    keys = frozenset()
                groups.setdefault(keys, []).append(index)
        return groups

    def _check_group(self, keys: frozenset[str], places: list[int], right: list[Any], problems: dict[int, Any]) -> None:
        wanted = [name for key, name in self._names if key in keys or key == "name"]
        schema = self.of(only=wanted) if keys else self.of()
        try:
            schema.load([right[index] for index in places], many=True)
        except ValidationError as error:
            told: dict[Any, Any] = error.messages_dict
            problems.update((places[at], messages) for at, messages in told.items())
            for index, valid in zip(places, error.valid_data or [], strict=True):
                right[index] = valid
