"""What shapes are made of. Every key is there in every answer, unless it says otherwise."""

from __future__ import annotations

from typing import Any

from marshmallow import EXCLUDE, Schema, fields

_HIDDEN = 'Fields marked `writeOnly` in the workflow\'s schemas are `"***"`.'


class Shape(Schema):
    """A map in an answer. Keys are only ever added, so it may hold more than a client knows."""

    class Meta:
        unknown = EXCLUDE


def told(description: str = "", **more: Any) -> dict[str, Any]:
    return {"metadata": {**({"description": description} if description else {}), **more}}


def text(description: str = "", **more: Any) -> fields.String:
    return fields.String(required=True, **told(description, **more))


def text_or_null(description: str = "", **more: Any) -> fields.String:
    return fields.String(required=True, allow_none=True, **told(description, **more))


def id_of(description: str = "") -> fields.String:
    return text(description, format="uuid")


def id_or_null(description: str = "") -> fields.String:
    return text_or_null(description, format="uuid")


def at(description: str = "") -> fields.String:
    return text(description, format="date-time")


def at_or_null(description: str = "") -> fields.String:
    return text_or_null(description, format="date-time")


def number(description: str = "") -> fields.Integer:
    return fields.Integer(required=True, **told(description))


def number_or_null(description: str = "") -> fields.Integer:
    return fields.Integer(required=True, allow_none=True, **told(description))


def flag(description: str = "") -> fields.Boolean:
    return fields.Boolean(required=True, **told(description))


def flag_or_null(description: str = "") -> fields.Boolean:
    return fields.Boolean(required=True, allow_none=True, **told(description))


def word(words: Any, description: str = "") -> fields.String:
    return text(description, enum=[str(one) for one in words])


def json_value(description: str = "") -> fields.Raw:
    return fields.Raw(required=True, allow_none=True, **told(description))


def hidden_json(description: str = "") -> fields.Raw:
    return json_value(f"{description} {_HIDDEN}".strip())


def counts(description: str) -> fields.Dict:
    return fields.Dict(fields.String(), fields.Integer(), required=True, **told(description))


def texts(description: str = "") -> fields.List[Any]:
    return fields.List(fields.String(), required=True, **told(description))


def a(shape: Any, description: str = "") -> fields.Nested:
    return fields.Nested(shape, required=True, **told(description))


def a_or_null(shape: Any, description: str = "") -> fields.Nested:
    return fields.Nested(shape, required=True, allow_none=True, **told(description))


def many(shape: Any, description: str = "") -> fields.List[Any]:
    return fields.List(fields.Nested(shape), required=True, **told(description))


def page_of(shape: type[Schema]) -> type[Schema]:
    """The shape of a page of these."""
    name = f"{shape.__name__}Page"
    next_page = text_or_null("The `after` of the next page; null at the end.")
    made = type(name, (Shape,), {"items": many(shape), "next": next_page})
    assert issubclass(made, Schema)
    return made


class ProblemItem(Shape):
    """One thing that is wrong."""

    path = text("Where: `steps[2].retry.delay`, `input.amount`; empty for the whole.")
    message = text()
    hint = text_or_null("How to mend it.")


class Problem(Shape):
    """What is wrong with a request (RFC 9457)."""

    type = text("What kind of problem, as a URN.")
    title = text()
    status = number()
    detail = text("What is wrong this time, in a sentence.")
    errors = many(ProblemItem, "All that is wrong, each with its place; may be empty.")
    request_id = text("What the log of the server calls this request; also the header X-Request-Id.")
