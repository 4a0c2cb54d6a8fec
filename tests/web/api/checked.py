"""A client of the API that compares every answer with the OpenAPI document."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from flask import Flask, Response, request
from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from werkzeug.test import TestResponse

_DOCUMENT = "urn:document"
Seen = set[tuple[str, str, int]]


class Checked:
    """Calls the application; `seen` are the routes and statuses that were answered, all as documented."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self._rule: str | None = None
        app.after_request(self._note_rule)
        self.client = app.test_client()
        self.document: dict[str, Any] = self.client.get("/api/v1/openapi.json").get_json()
        contents = _closed(self.document)
        self._registry: Registry[Any] = Registry().with_resource(_DOCUMENT, DRAFT202012.create_resource(contents))
        self.seen: Seen = set()

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Method, path and description of every route of the document."""
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                if method != "parameters":
                    yield method.upper(), path, operation

    def call(self, method: str, path: str, *, token: str | None = None, **given: Any) -> TestResponse:
        """Ask, and check the answer; `path` as it is in the address, after `/api/v1`."""
        headers = dict(given.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._rule = None
        answer = self.client.open(f"/api/v1{path}", method=method, headers=headers, **given)
        self.check(method, answer)
        return answer

    def check(self, method: str, answer: TestResponse) -> None:
        assert answer.status_code < 600
        assert answer.headers["X-Request-Id"]
        assert answer.headers["Cache-Control"] == "no-store"
        if self._rule is None:
            self._check_body(answer, f"{_DOCUMENT}#/components/schemas/Problem")
            return
        responses = self._responses(method)
        status = str(answer.status_code)
        assert status in responses, f"{method} {self._rule} answered {status}, which is not documented: {answer.text}"
        self.seen.add((method, self._rule, answer.status_code))
        pointer = f"{_DOCUMENT}#/paths/{_escaped(self._rule)}/{method.lower()}/responses/{status}"
        reference = responses[status].get("$ref")
        described = self._component(reference) if reference else responses[status]
        kind = answer.mimetype
        if "content" not in described:
            assert answer.data == b""
            return
        assert kind in described["content"], f"{kind} is not documented for {status}"
        where = f"{_DOCUMENT}{reference}" if reference else pointer
        if "json" in kind and kind != "application/x-ndjson":
            self._check_body(answer, f"{where}/content/{_escaped(kind)}/schema")

    def _responses(self, method: str) -> Mapping[str, Any]:
        assert self._rule is not None
        found: Mapping[str, Any] = self.document["paths"][self._rule][method.lower()]["responses"]
        return found

    def _component(self, reference: str) -> dict[str, Any]:
        found: dict[str, Any] = self.document["components"]["responses"][reference.rsplit("/", 1)[1]]
        return found

    def _check_body(self, answer: TestResponse, reference: str) -> None:
        validator = Draft202012Validator(
            {"$ref": reference}, registry=self._registry, format_checker=FormatChecker(["uuid"])
        )
        faults = [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(json.loads(answer.data))]
        assert not faults, faults

    def _note_rule(self, response: Response) -> Response:
        rule = request.url_rule.rule if request.url_rule is not None else None
        self._rule = _as_documented(rule) if rule is not None and rule.startswith("/api/v1/") else None
        return response


def _as_documented(rule: str) -> str:
    return re.sub(r"<(?:[^<>]*:)?([^<>:]*)>", r"{\1}", rule)


def _escaped(part: str) -> str:
    """A key as a part of a JSON pointer in the fragment of a reference."""
    return part.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D").replace("+", "%2B")


def _closed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with maps that hold nothing that it does not name."""
    closed = copy.deepcopy(document)
    for schema in closed["components"]["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return closed
