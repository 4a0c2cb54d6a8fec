"""Start a workflow by a form made from its `input_schema`."""

from __future__ import annotations

from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.roles import Role
from orchestrator.errors import Conflict, InvalidInput, NotFound, Problem
from orchestrator.services.start import start
from orchestrator.services.start_plain import StartOptions
from web.application import engine
from web.auth import actor
from web.errors import Forbidden
from web.pages.forms import json_field
from web.pages.frame import done, needs, page_blueprint, render, show_errors
from web.pages.owner import apps_of, meant, workflow_of
from web.pages.schema_form import Field, beside_fields, form_of, read_form

starter = page_blueprint("starter")

_OPTIONS = ("tags", "key")


@starter.get("/workflow/start")
@needs(Role.OPERATOR)
def form() -> str:
    return render("workflow/start.html", given=None, errors={}, **_shown())


@starter.post("/workflow/start", endpoint="start")
def begin() -> Response:
    shown, given = _shown(), request.form
    errors: dict[str, str] = {}
    value = _input(shown["fields"], given, errors)
    if not errors:
        try:
            options = _options(given, shown["apps"])
            made = start(engine(), shown["workflow"]["name"], value, options)
            told = "This is the new run." if made.created else "A run was started with this key before: this is it."
            return done(url_for("run.show", run_id=made.run_id), told)
        except InvalidInput as error:
            errors = _told(shown["fields"] or (), error.problems, bool(given.get("json", "").strip()))
        except (Conflict, NotFound) as error:
            errors = {"": str(error)}
    return show_errors("workflow/start.html", given=given, errors=errors, **shown)


def _shown() -> dict[str, Any]:
    which = meant()
    found = workflow_of(which)
    schema = found["document"].get("input_schema")
    fields = form_of(schema, "input") if schema is not None else ()
    return {"which": which, "workflow": found, "schema": schema, "fields": fields, "apps": apps_of(found)}


def _input(fields: tuple[Field, ...] | None, given: Any, errors: dict[str, str]) -> Any:
    """What JSON says when there is any, else the fields."""
    if fields is None or given.get("json", "").strip():
        return json_field(given, "json", errors)
    return read_form(fields, given, errors) or ({} if fields else None)


def _options(given: Any, apps: list[str]) -> StartOptions:
    app = given.get("app") or (apps[0] if apps else engine().settings.app)
    if apps and app not in apps:
        raise Forbidden(f"app '{app}' is not open to you")
    tags = tuple(dict.fromkeys(tag.strip() for tag in given.get("tags", "").split(",") if tag.strip()))
    return StartOptions(app=app, tags=tags, idempotency_key=given.get("key", "").strip() or None, actor=actor())


def _told(fields: tuple[Field, ...], problems: tuple[Problem, ...], as_json: bool) -> dict[str, str]:
    """Beside the fields, or when JSON was given all beside that; those about tags and the key beside these."""
    about = {"idempotency_key": "key", "tags": "tags"}
    own = {about[place]: problem.message for problem in problems if (place := problem.path.split("[")[0]) in about}
    rest = [problem for problem in problems if problem.path.split("[")[0] not in about]
    if as_json:
        return own | ({"json": "; ".join(map(str, rest))} if rest else {})
    return own | beside_fields(fields, rest, "input")
