"""A noun of the API: a blueprint whose every route says who may use it, what it takes, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from flask import Response, current_app
from flask_smorest import Blueprint
from marshmallow import Schema

from orchestrator.domain.roles import Role
from orchestrator.store.reads import Page
from web.api.bodies import JSON, read_body, read_query
from web.api.fields import NoQuery
from web.auth import current_identity, require
from web.problems import slug_of
from web.rates import Rates

PREFIX = "/api/v1"
View = TypeVar("View", bound=Callable[..., Any])
# What every route may answer.
ALWAYS = (401, 422, 429, 500, 503)
_OF_BODIES = (400, 413, 415)


class Noun(Blueprint):  # type: ignore[misc]
    """Routes that belong together. `title` is what the document lists them under."""

    def __init__(self, title: str, description: str) -> None:
        super().__init__(f"api-{title}", __name__, url_prefix=PREFIX, description=description)
        self.title = title

    def get(self, rule: str, answer: Any = None, *, role: Role = Role.VIEWER, **given: Any) -> Callable[[View], View]:
        """A route that reads; see `add`."""
        return self.add("GET", rule, role, answer, **given)

    def post(self, rule: str, answer: Any = None, *, role: Role, **given: Any) -> Callable[[View], View]:
        """A route that acts; see `add`."""
        return self.add("POST", rule, role, answer, **given)

    def add(
        self,
        method: str,
        rule: str,
        role: Role,
        answer: type[Schema] | dict[str, Any] | None,
        *,
        status: int = 200,
        query: type[Schema] = NoQuery,
        body: type[Schema] | None = None,
        also: Sequence[int] = (),
        refused: Sequence[int] = (),
        content_type: str | None = None,
        doc: dict[str, Any] | None = None,
    ) -> Callable[[View], View]:
        """Let the view answer at `rule` whoever has the role.

        It is called with the query and, if there is one, the body as maps, and with the names in the path. `answer` is
        the shape of what it gives with `status`, and with the other successes of `also`; `refused` are the statuses of
        errors it may raise besides those of `ALWAYS`. The first line of its docstring is the route's title in the
        document, what follows its description. `doc` goes into the document as it is.
        """

        def register(view: View) -> View:
            taken = _OF_BODIES if body is not None else ()
            low = () if role is Role.VIEWER else (403,)
            codes = sorted({*ALWAYS, *low, *taken, *refused})
            told = self._told(view, query, body, [(code, answer, content_type) for code in (status, *also)], codes)
            told = self.doc(**{"x-role": str(role), **(doc or {})})(told)
            asked = _asked(view, query(), body() if body is not None else None)
            asked.__dict__["_apidoc"] = told._apidoc
            self.route(rule, methods=[method], tags=[self.title])(require(role)(asked))
            return view

        return register

    def _told(
        self,
        view: Callable[..., Any],
        query: type[Schema],
        body: type[Schema] | None,
        answers: Sequence[tuple[int, Any, str | None]],
        refused: Sequence[int],
    ) -> Any:
        """What flask-smorest is to write into the document. Its wrappers are not called: they cost each request."""

        def told() -> None: ...

        told.__doc__ = view.__doc__
        wrapped: Any = told
        if body is not None:
            needed = any(field.required for field in body().fields.values())
            wrapped = self.arguments(body(), location="json", required=needed)(wrapped)
        wrapped = self.arguments(query(), location="query")(wrapped)
        for code, answer, content_type in answers:
            wrapped = self.response(code, answer, content_type=content_type)(wrapped)
        for code in refused:
            wrapped = self.alt_response(code, response=slug_of(code))(wrapped)
        return wrapped


def _asked(view: Callable[..., Any], query: Schema, body: Schema | None) -> Callable[..., Any]:
    """The view with what it is asked, as often as its asker may."""

    @wraps(view)
    def asked(**names: Any) -> Any:
        rates: Rates = current_app.extensions["orchestrator.rates"]
        rates.take(current_identity().token_id)
        if body is None:
            return view(read_query(query), **names)
        return view(read_query(query), read_body(body), **names)

    return asked


def answered(value: Any, status: int = 200, **headers: str) -> Response:
    """JSON as an answer; `headers` by name, `_` for `-`."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(text, status, named, mimetype=JSON)


def paged(page: Page) -> Response:
    """A page of a list as an answer."""
    return answered({"items": page.items, "next": page.next})
