"""Queries and bodies of requests, read strictly."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NoReturn

from flask import Request, request
from marshmallow import RAISE, Schema, ValidationError
from webargs.flaskparser import FlaskParser

from orchestrator.domain.limits import Limits
from orchestrator.domain.loading.decode import decode
from orchestrator.domain.loading.json_text import NotJson, load_json
from orchestrator.errors import InvalidDefinition, InvalidInput, Problem
from web.errors import MalformedBody, UnsupportedBody

JSON = "application/json"
_LIMITS = Limits(document_bytes=1 << 30)  # the server's own bound on bodies is lower


class Parser(FlaskParser):
    """Keys that are not known are errors everywhere; JSON is strict, and needs its content type."""

    DEFAULT_UNKNOWN_BY_LOCATION = {"query": RAISE, "json": RAISE}

    def load_json(self, req: Request, schema: Schema) -> Any:
        return read_json(required=any(field.required for field in schema.fields.values()))

    def handle_error(self, error: ValidationError, req: Request, schema: Schema, **given: Any) -> NoReturn:
        where, told = next(iter(error.messages_dict.items()))
        headline = "the query is invalid" if where == "query" else "the body is invalid"
        raise InvalidInput(list(_problems(told, "")), headline) from error


def read_json(*, required: bool, empty: Any = MappingProxyType({})) -> Any:
    """The body's JSON; without a body `empty`, where nothing is required.

    Raises `UnsupportedBody` for another content type, and `MalformedBody`.
    """
    source = request.get_data(cache=False)
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
