"""Queries and bodies of requests, read strictly."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from flask import request
from marshmallow import Schema, ValidationError, fields
from werkzeug.exceptions import RequestEntityTooLarge

from orchestrator.domain.limits import Limits
from orchestrator.domain.loading.decode import decode
from orchestrator.domain.loading.json_text import NotJson, load_json
from orchestrator.errors import InvalidDefinition, InvalidInput, Problem
from web.errors import MalformedBody, UnsupportedBody

JSON = "application/json"
_QUERY, _BODY = "the query is invalid", "the body is invalid"
_LIMITS = Limits(document_bytes=1 << 30)  # the server's own bound on bodies is lower


def read_query(schema: Schema) -> Any:
    """What is asked for behind the `?`; raises `InvalidInput`."""
    given: dict[str, Any] = {}
    for name, values in request.args.lists():
        field = schema.fields.get(name)
        if len(values) > 1 and not isinstance(field, fields.List):
            raise InvalidInput([Problem(name, "is given more than once")], _QUERY)
        given[name] = values if isinstance(field, fields.List) else values[0]
    return _loaded(schema, given, _QUERY)


def read_body(schema: Schema) -> Any:
    """What the body says; raises as `read_json`, and `InvalidInput`."""
    return _loaded(schema, read_json(required=any(field.required for field in schema.fields.values())), _BODY)


def invalid_body(*problems: Problem) -> InvalidInput:
    """What to raise for a body that cannot be as it is, for more than its shape says."""
    return InvalidInput(problems, _BODY)


def _loaded(schema: Schema, given: Any, headline: str) -> Any:
    try:
        return schema.load(given)
    except ValidationError as error:
        raise InvalidInput(_problems(error.messages, ""), headline) from error


def read_source() -> bytes:
    """The whole body; raises `RequestEntityTooLarge`."""
    source = request.get_data(cache=False)
    most = request.max_content_length
    # Of one that comes in chunks Werkzeug would hand on as much as it may have.
    if request.content_length is None and most is not None and len(source) >= most:
        raise RequestEntityTooLarge
    return source


def read_json(*, required: bool, empty: Any = MappingProxyType({})) -> Any:
    """The body's JSON; without a body `empty`, where nothing is required.

    Raises `UnsupportedBody` for another content type, and `MalformedBody`.
    """
    source = read_source()
    if not source and not required:
        return empty
    if not request.is_json:
        raise UnsupportedBody(f"send JSON, with `Content-Type: {JSON}`")
    try:
        return load_json(decode(source, _LIMITS), _LIMITS)
    except NotJson as error:
        raise MalformedBody(error.error.problems) from error
    except InvalidDefinition as error:
        raise MalformedBody(error.problems) from error


def _problems(told: Any, path: str) -> list[Problem]:
    """Marshmallow's messages, each with its path: `tags[2]`."""
    if isinstance(told, dict):
        return [problem for key, inner in told.items() for problem in _problems(inner, _below(path, key))]
    messages = told if isinstance(told, list) else [told]
    return [Problem(path, _sentence(str(message))) for message in messages]


def _below(path: str, key: Any) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    if key == "_schema":
        return path
    return f"{path}.{key}" if path else str(key)


def _sentence(message: str) -> str:
    """Marshmallow's words as ours: no capital, no full stop."""
    words = {"Unknown field.": "is not known here", "Missing data for required field.": "is missing"}
    return words.get(message) or message[:1].lower() + message[1:].removesuffix(".")
