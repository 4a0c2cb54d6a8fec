"""Fields of queries and bodies: what Postgres can hold, and within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

MOST_INTEGER = (1 << 31) - 1


def absent() -> None:
    """What a query has where nothing is said: in an address there is no null."""


class Strict(Schema):
    """What a request may hold: a key that is not known is an error."""

    class Meta:
        unknown = RAISE
        ordered = True


class NoQuery(Strict):
    """Nothing may be asked for."""


class Text(fields.String):
    """Text without NUL, of `most` characters at most."""

    def __init__(self, *, most: int = 1000, least: int = 0, **given: Any) -> None:
        checks = [validate.Length(min=least or None, max=most), *given.pop("validate", ())]
        super().__init__(validate=checks, **given)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **given: Any) -> Any:
        text = super()._deserialize(value, attr, data, **given)
        if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text):
            raise ValidationError("holds a character that cannot be stored")
        return text


class Name(Text):
    """The name of something: 1 to 255 printable characters."""

    def __init__(self, **given: Any) -> None:
        super().__init__(most=255, least=1, **given)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **given: Any) -> Any:
        text = super()._deserialize(value, attr, data, **given)
        if not text.isprintable():
            raise ValidationError("must be printable characters")
        return text


class When(fields.DateTime):
    """A moment, ISO 8601 (RFC 3339); without a time zone it is UTC."""

    def __init__(self, **given: Any) -> None:
        super().__init__(format="iso", **given)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **given: Any) -> Any:
        # A `+` that was not percent-encoded in a query has become a space.
        at: datetime = super()._deserialize(str(value).replace(" ", "+"), attr, data, **given)
        try:
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        except OverflowError:
            raise ValidationError("Not a valid datetime.") from None


class Count(fields.Integer):
    """A whole number from `least` to `most`."""

    def __init__(self, *, least: int = 0, most: int = MOST_INTEGER, **given: Any) -> None:
        super().__init__(validate=validate.Range(least, most), **given)

    def _validated(self, value: Any) -> Any:
        if isinstance(value, float) and value % 1:  # what is asked for is not rounded
            raise self.make_error("invalid", input=value)
        return super()._validated(value)


class AnyJson(fields.Raw):
    """Any JSON value, null among them."""

    def __init__(self, **given: Any) -> None:
        super().__init__(allow_none=True, **given)


class WhichRevision(fields.Field[Any]):
    """`same`, `latest` or a revision's number."""

    def __init__(self, **given: Any) -> None:
        described = "Of the workflow: `same` as the run had, `latest`, or one by its number."
        super().__init__(metadata={"description": described}, **given)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **given: Any) -> Any:
        if value in ("same", "latest"):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_INTEGER:
            return value
        raise ValidationError("must be `same`, `latest` or a number of a revision")


def one_of(words: Any, **given: Any) -> fields.String:
    """One of these words."""
    return fields.String(validate=validate.OneOf([str(word) for word in words]), **given)


class Paged(Strict):
    """What every list takes."""

    limit = Count(least=1, most=1000, load_default=100, metadata={"description": "At most so many."})
    after = Text(
        load_default=absent, metadata={"description": "Go on where the last page ended: the `next` of that page."}
    )


class Whole(Strict):
    """How values that lie in the blob store are shown."""

    references = fields.Boolean(
        load_default=False, metadata={"description": "With references in place of values in the blob store."}
    )


class OfApp(Strict):
    """Which app is meant."""

    app = Name(
        load_default=absent,
        metadata={
            "description": "Of this app. A token of one app sees that one only; for it the others are not there."
        },
    )
