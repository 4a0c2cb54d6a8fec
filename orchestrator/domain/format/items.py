"""`with_items`: a template of the items, the items themselves, or a map that says more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.domain.format.fields import AnyJson, Number, Part
from orchestrator.domain.format.messages import not_a, wrong
from orchestrator.domain.format.nested import Strict

_SHARE = re.compile(r"(100|\d{1,2})(\.\d+)?%")
_MOST = 1 << 20


def _is_items(value: Any) -> bool:
    return isinstance(value, list | dict) or (isinstance(value, str) and "{{" in value)


class Items(AnyJson):
    """What the items are: a template, a list, or a map."""

    def check(self, value: Any) -> None:
        if not _is_items(value):
            raise not_a("a template, a list or a map", value)

    def shape(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string", "pattern": r"\{\{"}, {"type": "array"}, {"type": "object"}]}


class Failures(Number):
    """How many may fail, or which share of all."""

    def check(self, value: Any) -> None:
        if not isinstance(value, str):
            super().check(value)
        elif not _SHARE.fullmatch(value) or float(value[:-1]) > 100:
            raise wrong("must be a whole number, or a share of all items such as '10%'")

    def shape(self) -> dict[str, Any]:
        return {"anyOf": [super().shape(), {"type": "string", "pattern": rf"^{_SHARE.pattern}$"}]}


class Flag(Part):
    """True or false."""

    def check(self, value: Any) -> None:
        if not isinstance(value, bool):
            raise not_a("true or false", value)

    def shape(self) -> dict[str, Any]:
        return {"type": "boolean"}


class ItemsSchema(Strict):
    about = "with_items"

    items = Items("The items: a template that gives a list or a map, or these themselves.", required=True)
    concurrency = Number(
        "How many items are under way at a time; no limit by default.", least=1, most=_MOST, whole=True
    )
    batch_size = Number("Does it for lists of so many items.", least=1, most=_MOST, whole=True)
    fail_fast = Flag("Cancel the other items as soon as it is certain that the step fails.")
    max_failures = Failures(
        "How many items may fail, or which share of them ('10%'), before the step does; 0 by default.",
        most=_MOST,
        whole=True,
    )


class WithItems(Part):
    """A template, a list, or a map with the keys of `schema`."""

    def __init__(self, schema: type[Strict], description: str):
        super().__init__(description, nullable=False)
        self.of = schema
        self._schema = schema()

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        if isinstance(value, dict):
            self._schema.load(value)
        elif not _is_items(value):
            raise not_a("a template, a list, or a map with 'items'", value)
        return value

    def short(self) -> list[dict[str, Any]]:
        """The JSON Schemas of what is not a map."""
        return [{"type": "string", "pattern": r"\{\{"}, {"type": "array"}]
