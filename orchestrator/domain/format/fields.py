"""The kinds of values in a document. Each checks a value without changing it and describes itself as JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from marshmallow import ValidationError, fields

from orchestrator.domain.celery_task import PREFIX
from orchestrator.domain.definition import HANDLER_NAMES
from orchestrator.domain.format.messages import NULL, QUOTES, REQUIRED, not_a, wrong
from orchestrator.domain.near import near_hint
from orchestrator.domain.times import TEN_YEARS

NAME_LENGTH = 255
# What no name may hold: controls, blanks other than the space, and characters that do not show or turn text around.
# Written out, so that a name is as good with every version of Unicode, here and in an editor. Joiners are allowed.
_HIDDEN = (
    r"\u0000-\u001f\u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f"
    r"\u3000\ud800-\uf8ff\ufeff\ufff9-\uffff"
)
_NAME_PATTERN = rf"^[^ {_HIDDEN}]([^{_HIDDEN}]*[^ {_HIDDEN}])?$"
_FIND_HIDDEN = re.compile(f"[{_HIDDEN}]")


class Part(fields.Field[Any]):
    """A value of a document. An optional one may be null, which is as if it were not there."""

    def __init__(self, description: str, *, required: bool = False, key: str | None = None, nullable: bool = True):
        super().__init__(
            required=required,
            allow_none=nullable and not required,
            data_key=key,
            attribute=key,
            metadata={"description": description},
            error_messages={"required": REQUIRED, "null": NULL},
        )

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        self.check(value)
        return value

    def check(self, value: Any) -> None:
        """Raise `ValidationError` for a value that does not fit."""
        raise NotImplementedError

    def shape(self) -> dict[str, Any]:
        """The JSON Schema of the values that fit, null and description aside."""
        raise NotImplementedError


class Text(Part):
    """Text of `least` to `most` characters."""

    def __init__(self, description: str, *, least: int = 0, most: int | None = None, **options: Any):
        super().__init__(description, **options)
        self.least, self.most = least, most

    def check(self, value: Any) -> None:
        if not isinstance(value, str):
            raise not_a("text", value, QUOTES if isinstance(value, int | float) else None)
        if len(value) < self.least:
            raise wrong("must not be empty")
        if self.most is not None and len(value) > self.most:
            raise wrong(f"must be {self.most} characters or shorter, not {len(value)}")

    def shape(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"type": "string"}
        if self.least:
            shape["minLength"] = self.least
        if self.most is not None:
            shape["maxLength"] = self.most
        return shape


class Name(Text):
    """1 to 255 printable characters of any script; blanks inside only."""

    def __init__(self, description: str, **options: Any):
        super().__init__(description, least=1, most=NAME_LENGTH, **options)

    def check(self, value: Any) -> None:
        super().check(value)
        if value[0] == " " or value[-1] == " ":
            raise wrong("must not begin or end with a blank")
        hidden = _FIND_HIDDEN.search(value)
        if hidden is not None:
            raise wrong(f"must be printable: U+{ord(hidden.group()):04X} is not")

    def shape(self) -> dict[str, Any]:
        return super().shape() | {"pattern": _NAME_PATTERN}


class StepName(Name):
    """A name that is not one of a lifecycle handler."""

    def check(self, value: Any) -> None:
        super().check(value)
        if value in HANDLER_NAMES:
            raise wrong(f"'{value}' is the name of a lifecycle handler", f"write '{value}:' at the top of the document")

    def shape(self) -> dict[str, Any]:
        return super().shape() | {"not": {"enum": list(HANDLER_NAMES)}}


class FunctionName(Name):
    """A registered function's name, or `celery:` and the name of a Celery task."""

    def check(self, value: Any) -> None:
        super().check(value)
        if value.startswith(PREFIX) and (value == PREFIX or value[len(PREFIX)] == " "):
            raise wrong("must name a Celery task", f"as in '{PREFIX}proj.tasks.add'")

    def shape(self) -> dict[str, Any]:
        return super().shape() | {"not": {"pattern": f"^{PREFIX}( |$)"}}


class Choice(Part):
    """One of the values of an enum."""

    def __init__(self, description: str, values: type[StrEnum], **options: Any):
        super().__init__(description, **options)
        self.values = [value.value for value in values]

    def check(self, value: Any) -> None:
        if value in self.values and isinstance(value, str):
            return
        shown = f"'{value[:60]}'" if isinstance(value, str) else "that"
        raise wrong(f"must be one of {', '.join(self.values)}; {shown} is not", lambda: self._near(value))

    def _near(self, value: Any) -> str | None:
        return near_hint(value, self.values) if isinstance(value, str) else None

    def shape(self) -> dict[str, Any]:
        return {"enum": self.values}


class Number(Part):
    """A number from `least` to `most`; `above` leaves `least` itself out; `whole` asks for an integer."""

    def __init__(
        self,
        description: str,
        *,
        least: float = 0,
        most: float = TEN_YEARS,
        above: bool = False,
        whole: bool = False,
        unit: str = "",
        **options: Any,
    ):
        super().__init__(description, **options)
        self.least, self.most, self.above, self.whole = least, most, above, whole
        self.expected = ("a whole number" if whole else "a number") + (f" of {unit}" if unit else "")

    def check(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise not_a(self.expected, value)
        if self.whole and value != int(value):
            raise wrong(f"must be {self.expected}, not {value:g}")
        if not self.least <= value <= self.most or (self.above and value == self.least):
            raise wrong(f"must be {self._bounds()}, not {value!r:.40}")

    def _bounds(self) -> str:
        if self.above:
            return f"above {self.least:g} and at most {self.most:.12g}"
        return f"from {self.least:g} to {self.most:.12g}"

    def shape(self) -> dict[str, Any]:
        bound = "exclusiveMinimum" if self.above else "minimum"
        return {"type": "integer" if self.whole else "number", bound: self.least, "maximum": self.most}


class Seconds(Number):
    """A length of time in seconds; with `template`, also text with an expression that gives one."""

    def __init__(self, description: str, *, template: bool = False, **options: Any):
        super().__init__(description, unit="seconds", **options)
        self.template = template

    def check(self, value: Any) -> None:
        if self.template and isinstance(value, str):
            if "{{" not in value:
                raise not_a("a number of seconds, or a template of one", value)
            return
        super().check(value)

    def shape(self) -> dict[str, Any]:
        shape = super().shape()
        return {"anyOf": [shape, {"type": "string", "pattern": r"\{\{"}]} if self.template else shape


class AnyJson(Part):
    """Any JSON, templates in it or not."""

    def check(self, value: Any) -> None:
        pass

    def shape(self) -> dict[str, Any]:
        return {}


class Variables(Part):
    """A map of variable names to any JSON."""

    def check(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise not_a("a map of variables", value)
        if "" in value:
            raise wrong("a variable's name must not be empty")
        long = next((name for name in value if len(name) > NAME_LENGTH), None)
        if long is not None:
            raise wrong(f"a variable's name must be {NAME_LENGTH} characters or shorter, not {len(long)}")

    def shape(self) -> dict[str, Any]:
        return {"type": "object", "propertyNames": {"minLength": 1, "maxLength": NAME_LENGTH}}


class Texts(Part):
    """A list of texts; with `single`, also one text alone."""

    def __init__(self, description: str, *, single: bool = False, **options: Any):
        super().__init__(description, **options)
        self.single = single
        self._text = Text("", least=1, most=NAME_LENGTH)

    def check(self, value: Any) -> None:
        if self.single and isinstance(value, str):
            self._text.check(value)
            return
        if not isinstance(value, list):
            raise not_a("a list of texts", value)
        problems = {}
        for index, text in enumerate(value):
            try:
                self._text.check(text)
            except ValidationError as error:
                problems[index] = error.messages
        if problems:
            raise ValidationError(problems)

    def shape(self) -> dict[str, Any]:
        several = {"type": "array", "items": self._text.shape()}
        return {"anyOf": [self._text.shape(), several]} if self.single else several


class Condition(Part):
    """A bare expression, or `true`/`false` as YAML has them."""

    def check(self, value: Any) -> None:
        if not isinstance(value, str | bool):
            raise not_a("an expression", value)

    def shape(self) -> dict[str, Any]:
        return {"type": ["string", "boolean"]}


class Pass(Part):
    """`pass: true`, `pass: {}` or `pass:` with nothing: the step does nothing."""

    def check(self, value: Any) -> None:
        if value is not True and value != {}:
            raise wrong("must be true: the step does nothing")

    def shape(self) -> dict[str, Any]:
        return {"enum": [True, {}, None]}


class Join(Part):
    """`all`, `any`, or how many sources must be satisfied."""

    def check(self, value: Any) -> None:
        whole = isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
        if value not in ("all", "any") and not (whole and value >= 1):
            raise wrong("must be 'all', 'any' or a number of sources, 1 or more")

    def shape(self) -> dict[str, Any]:
        return {"anyOf": [{"enum": ["all", "any"]}, {"type": "integer", "minimum": 1}]}


class Schema(Part):
    """A JSON Schema; `domain.validate` checks what is in it."""

    def check(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise not_a("a JSON Schema (a map)", value)

    def shape(self) -> dict[str, Any]:
        return {"type": "object"}


def alternatives(shape: dict[str, Any]) -> dict[str, Any]:
    """`shape` with null among what fits."""
    if "enum" in shape:
        known = shape["enum"]
        return shape if None in known else shape | {"enum": [*known, None]}
    if isinstance(shape.get("type"), str):
        return shape | {"type": [shape["type"], "null"]}
    if isinstance(shape.get("type"), list):
        return shape | {"type": [*shape["type"], "null"]}
    if "anyOf" in shape:
        return {"anyOf": [*shape["anyOf"], {"type": "null"}]}
    return {"anyOf": [shape, {"type": "null"}]} if shape else shape
