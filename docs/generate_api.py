"""Writes the table of routes in docs/api.md from the OpenAPI document: `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.config import Config
from web.app import create_app

PATH = Path(__file__).with_name("api.md")
BEGIN, END = "<!-- routes: made by `make docs` -->", "<!-- end of routes -->"
_PREFIX = "/api/v1"


def page() -> str:
    """The page with the table as it should be."""
    head, _, rest = PATH.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{table(document())}\n\n{END}{tail}"


def document() -> dict[str, Any]:
    """The OpenAPI document; no server is asked."""
    app = create_app(Config(database_url="postgresql+psycopg2://nowhere/x"))
    found: dict[str, Any] = app.extensions["orchestrator.api"].spec.to_dict()
    return found


def table(document: dict[str, Any]) -> str:
    """A line a route, under the title of its noun."""
    lines = ["| route | role | | takes | answers |", "|---|---|---|---|---|"]
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            if method != "parameters":
                lines.append(_line(method.upper(), path.removeprefix(_PREFIX), told))
    return "\n".join(lines)


def _line(method: str, path: str, told: dict[str, Any]) -> str:
    answers = " ".join(sorted(status for status in told["responses"] if status[0] in "24"))
    role = told.get("x-role", "nobody: calls are signed")
    cells = [f"`{method} {path}`", role, told["summary"], ", ".join(_takes(told)), answers]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _takes(told: dict[str, Any]) -> Iterator[str]:
    for parameter in told.get("parameters", ()):
        if parameter["in"] == "query":
            yield f"`{parameter['name']}`"
    if "requestBody" in told:
        (schema, *_) = [content["schema"] for content in told["requestBody"]["content"].values()]
        yield schema.get("$ref", "a body").rsplit("/", 1)[-1]


if __name__ == "__main__":
    PATH.write_text(page())
