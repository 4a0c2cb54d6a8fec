"""Write a definition: checked as it is typed, with the line of each problem, and registered by authors."""

from __future__ import annotations

from typing import Any

from flask import Response, request, url_for

from orchestrator.domain.build import build
from orchestrator.domain.codes import code_of
from orchestrator.domain.difference import as_yaml
from orchestrator.domain.graph import make_plan
from orchestrator.domain.load import load_text
from orchestrator.domain.loading.places import line_said, lines_of
from orchestrator.domain.parse import parse
from orchestrator.domain.roles import Role
from orchestrator.domain.validate import warnings
from orchestrator.errors import Conflict, NotFound, Problem, ProblemsError
from orchestrator.services.register import known_functions, register
from orchestrator.store.reads import list_apps
from web.application import database, engine
from web.auth import actor
from web.pages.frame import done, needs, page_blueprint, render, scope, show_errors
from web.pages.graph_view import graph_view
from web.pages.owner import check_change, meant, owner_query, workflow_of

editor = page_blueprint("editor")

_MOST_DRAWN = 300  # steps
_MOST_PLACED = 300_000  # characters of a text in which lines are looked for
_NEW = """name: my-workflow
description: What it is for
input_schema:
  type: object
  properties:
    who: {type: string}
  required: [who]
steps:
  - name: hello
    function: python.echo
    input:
      text: "Hello {{ input.who }}"
"""


@editor.get("/workflow/edit")
@needs(Role.AUTHOR)
def edit() -> str:
    """The editor, with the latest revision in it, or with a beginning."""
    shown = _shown()
    workflow = shown["workflow"]
    text = as_yaml(workflow["document"]) if workflow else _NEW
    return render("workflow/edit.html", text=text, app="", force=False, **shown, **_checked(text))


@editor.post("/workflow/check", endpoint="check")
@needs(Role.AUTHOR)
def check_text() -> str:
    """What is wrong with the text, while it is typed."""
    return render("workflow/check.html", **_checked(_text()))


@editor.post("/workflow/edit", endpoint="register")
@needs(Role.AUTHOR)
def store() -> Response:
    shown, text, force = _shown(), _text(), request.form.get("force") == "yes"
    shown |= {"text": text, "app": request.form.get("app", ""), "force": force}
    checked = _checked(text)
    if checked["problems"]:
        return show_errors("workflow/edit.html", **shown, **checked)
    try:
        document = load_text(text, limits=engine().settings.documents)
        made = register(engine(), document, **_owner(shown["workflow"]), force=force, actor=actor())
    except (Conflict, NotFound, ProblemsError) as error:
        return show_errors("workflow/edit.html", refused=str(error), **shown, **checked)
    query: dict[str, Any] = {"name": made.workflow, made.owner.kind: made.owner.name}
    told = f"Revision {made.revision} is registered." if made.created else "Nothing changed since the latest revision."
    return done(url_for("workflow.show", **query), told)


def _owner(workflow: dict[str, Any] | None) -> dict[str, str]:
    """Whose it becomes: that of the one which is edited; a new one is the chosen app's."""
    if workflow is not None:
        return owner_query(workflow)
    return {"app": scope(request.form.get("app") or None) or engine().settings.app}


def _shown() -> dict[str, Any]:
    """The workflow that is edited; None for a new one."""
    if not request.args.get("name"):
        with database().transaction() as conn:
            apps = [] if scope() else [app["name"] for app in list_apps(conn)]
        return {"workflow": None, "which": None, "apps": apps, "default_app": scope() or engine().settings.app}
    which = meant()
    found = workflow_of(which)
    check_change(found)
    if (code := code_of(found["document"])) is not None:
        raise NotFound(f"workflow '{found['name']}' is written in Python: it is changed in {code}")
    return {"workflow": found, "which": which, "apps": [], "default_app": ""}


def _text() -> str:
    return request.form.get("text", "").replace("\r\n", "\n")


def _checked(text: str) -> dict[str, Any]:
    """`problems` and `warnings` with their lines; the graph when there are no problems."""
    limits = engine().settings.documents
    try:
        document = load_text(text, limits=limits)
        definition = parse(document, limits=limits)
    except ProblemsError as error:
        return {"problems": _placed(text, error.problems), "odd": [], "drawn": None, "steps": 0}
    with database().transaction() as conn:
        functions = known_functions(engine(), conn)
    odd = _placed(text, tuple(warnings(definition, functions=functions)))
    small = len(definition.steps) <= _MOST_DRAWN
    drawn = graph_view(make_plan(build(document))) if small else None
    return {"problems": [], "odd": odd, "drawn": drawn, "steps": len(definition.steps)}


def _placed(text: str, problems: tuple[Problem, ...]) -> list[dict[str, Any]]:
    """Each problem with its line."""
    paths = [problem.path for problem in problems]
    lines = lines_of(text, paths) if len(text) <= _MOST_PLACED else [None] * len(paths)
    return [_told(problem, line) for problem, line in zip(problems, lines, strict=True)]


def _told(problem: Problem, line: int | None) -> dict[str, Any]:
    said = line_said(problem.message)
    message = problem.message.removeprefix(f"line {said}, ")
    return {"path": problem.path, "message": message, "hint": problem.hint, "line": said or line}
