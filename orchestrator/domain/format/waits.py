"""The kinds of values that say what a step waits for."""

from __future__ import annotations

from typing import Any

from orchestrator.domain.format.fields import NAME_LENGTH, Name, Number, Part, Seconds, Text
from orchestrator.domain.format.messages import not_a, wrong
from orchestrator.domain.times import read_time


class Sleep(Seconds):
    """Seconds, a time in ISO 8601, or a template of either."""

    def __init__(self, description: str, **options: Any):
        super().__init__(description, template=True, **options)

    def check(self, value: Any) -> None:
        if not isinstance(value, str):
            super().check(value)
        elif "{{" not in value and read_time(value) is None:
            raise wrong("must be seconds, or a time such as 2026-12-24T18:00:00Z, or a template of either")

    def shape(self) -> dict[str, Any]:
        return {"anyOf": [Number.shape(self), {"type": "string", "minLength": 1}]}


class FormFields(Part):
    """A map of names to the JSON Schemas of what people fill in; `domain.validate` checks what is in them."""

    def check(self, value: Any) -> None:
        if not isinstance(value, dict) or not all(isinstance(schema, dict) for schema in value.values()):
            raise not_a("a map of names to JSON Schemas", value)
        if "" in value:
            raise wrong("a field's name must not be empty")

    def shape(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": "object"}, "propertyNames": {"minLength": 1}}


class EventName(Text):
    """An event's name, or a template of one."""

    def __init__(self, description: str, **options: Any):
        super().__init__(description, least=1, most=NAME_LENGTH, **options)

    def check(self, value: Any) -> None:
        super().check(value)
        if value.startswith("approval:"):
            raise wrong("names with 'approval:' are those of approvals", "write 'approval:' in place of 'event:'")

    def shape(self) -> dict[str, Any]:
        return super().shape() | {"not": {"pattern": "^approval:"}}


class WorkflowName(Text):
    """A workflow's name, or a template of one."""

    def __init__(self, description: str, **options: Any):
        super().__init__(description, least=1, nullable=False, **options)

    def check(self, value: Any) -> None:
        super().check(value)
        if "{{" not in value:
            Name("").check(value)

    def shape(self) -> dict[str, Any]:
        return {"anyOf": [Name("").shape(), {"type": "string", "pattern": r"\{\{"}]}
