"""The API as a whole: its nouns, and the OpenAPI document they make."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import flask_smorest
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask, Response, request
from flask_smorest.utils import prepare_response

from orchestrator.config import Config
from web.api.acts import acts
from web.api.alerts import alerts
from web.api.apps import apps
from web.api.audit import audit
from web.api.bulk import bulk
from web.api.docs import docs
from web.api.fields import MOST_INTEGER, WhichRevision
from web.api.functions import functions
from web.api.history import history
from web.api.hooks import hooks
from web.api.noun import PREFIX, Noun
from web.api.packs import packs
from web.api.pools import pools
from web.api.retention import retention
from web.api.revisions import revisions
from web.api.runs import runs
from web.api.schedules import schedules
from web.api.shapes.base import Problem
from web.api.signals import signals
from web.api.steps import steps
from web.api.stream import stream, streams
from web.api.tokens import tokens
from web.api.workers import workers
from web.api.workflows import workflows
from web.paths import NameConverter
from web.problems import PROBLEM, TITLES, slug_of

# Each is a file of its own. In the order of the document.
NOUNS: tuple[Noun, ...] = (
    workflows,
    revisions,
    runs,
    steps,
    history,
    stream,
    acts,
    bulk,
    signals,
    schedules,
    alerts,
    functions,
    workers,
    pools,
    packs,
    apps,
    audit,
    tokens,
    hooks,
    retention,
)
_ABOUT = """
Start workflows, follow and steer their runs.

Every request sends a token: `Authorization: Bearer orc_...`. Lists are pages: `next` is the `after` of the next one,
null at the end. A name in a path is one segment, percent-encoded: `a/b` is `a%2Fb`. What is wrong with a request is
told by a problem (`application/problem+json`), whose `errors` name each place.
"""


class Api(flask_smorest.Api):  # type: ignore[misc]
    """flask-smorest's document; errors are answered by web/problems.py."""

    ERROR_SCHEMA = Problem
    DEFAULT_ERROR_RESPONSE_NAME = None

    def add(self, noun: Noun) -> None:
        """Register a noun under its title."""
        self._app.extensions["flask-smorest"]["blp_name_to_api"][noun.name] = self
        self._app.register_blueprint(noun)
        noun.register_views_in_doc(self, self._app, self.spec, name=noun.name, parameters=None)
        self.spec.tag({"name": noun.title, "description": noun.description})

    def _register_error_handlers(self) -> None:
        """None of its own."""

    def _register_responses(self) -> None:
        for status, title in TITLES.items():
            response: dict[str, Any] = {"description": title, "schema": Problem}
            prepare_response(response, self.spec, PROBLEM)
            self.spec.components.response(slug_of(status), response, lazy=True)

    def _openapi_json(self) -> Response:
        """The document, for whoever asks."""
        text = document_text(self.spec.to_dict())
        response = Response(text, mimetype="application/json")
        response.headers["Cache-Control"] = "no-cache"
        response.set_etag(hashlib.sha256(text.encode()).hexdigest()[:32])
        response.make_conditional(request)
        return response


def _which_revision(converter: Any, field: Any, **_: Any) -> dict[str, Any]:
    if not isinstance(field, WhichRevision):
        return {}
    number = {"type": "integer", "minimum": 1, "maximum": MOST_INTEGER}
    return {"oneOf": [{"enum": ["same", "latest"]}, number]}


def _named(schema: Any) -> str:
    """What the document calls a schema: its class without `Shape`."""
    kind = schema if isinstance(schema, type) else type(schema)
    return kind.__name__.replace("Shape", "")


def document_text(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1)


def add_api(app: Flask, config: Config) -> Api:
    """Let the application serve the API and its document."""
    app.config.update(
        API_TITLE="orchestrator",
        API_VERSION="v1",
        OPENAPI_VERSION="3.1.0",
        OPENAPI_URL_PREFIX=PREFIX,
        API_SPEC_OPTIONS={"info": {"description": _ABOUT.strip()}, "security": [{"token": []}]},
    )
    api = Api(app, spec_kwargs={"marshmallow_plugin": MarshmallowPlugin(schema_name_resolver=_named)})
    api.spec.components.security_scheme("token", {"type": "http", "scheme": "bearer"})
    api.register_converter(NameConverter, lambda converter: {"type": "string", "minLength": 1})
    api.ma_plugin.converter.add_attribute_function(_which_revision)
    for noun in NOUNS:
        api.add(noun)
    app.register_blueprint(docs)
    app.extensions["orchestrator.api"] = api
    app.extensions["orchestrator.streams"] = streams(config.api_streams)
    return api
