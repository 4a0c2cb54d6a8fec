"""The tables of docs/expressions.md are true."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
import yaml

from orchestrator import testing
from orchestrator.domain.expressions import compile_template
from orchestrator.errors import ExpressionError, InvalidDefinition
from tests.architecture.pages import page
from tests.documents import FUNCTIONS, Document, document, on, step

PAGE = page("docs/expressions.md")
SCOPE = next(yaml.safe_load(body) for info, body in PAGE.blocks() if info == "yaml scope")
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|$", re.MULTILINE)
ROWS = [(text.replace("\\|", "|"), json.loads(value)) for text, value in ROW.findall(PAGE.text.partition("\n## ")[0])]


@pytest.mark.parametrize(("text", "value"), ROWS, ids=[text for text, _ in ROWS])
def test_the_text_on_the_left_gives_the_value_on_the_right(text: str, value: object) -> None:
    given = compile_template(text).render(SCOPE)
    assert (given, type(given)) == (value, type(value))


def test_the_table_was_read() -> None:
    assert len(ROWS) == len(re.findall(r"^\| `.*\{\{", PAGE.text, re.MULTILINE))


def test_a_missing_name_is_told_as_the_page_says() -> None:
    told = next(line for line in PAGE.text.splitlines() if "is not defined" in line)
    with pytest.raises(ExpressionError) as caught:
        compile_template("{{ input.nmae }}").render(SCOPE)
    assert re.search(r"gives `(.+)`\.$", told)[1] in str(caught.value)  # type: ignore[index]


def short(text: str) -> str:
    """An expression that looks at the same and gives 1."""
    return text.replace("}}", "and 1 or 1 }}")


def bare(text: str) -> str:
    """An expression without its braces."""
    return text.removeprefix("{{").removesuffix("}}").strip()


def of_b(**keys: object) -> Document:
    """A step behind `a`."""
    return document(step("a"), step("b", "a", **keys))


# Where a template stands, by the words of the page: its path, and a run in which it is looked at.
PLACES: dict[str, tuple[str, Callable[[str], Document]]] = {
    "`vars`": ("vars.v", lambda text: document(step("a"), vars={"v": text})),
    "`when`": ("steps[1].when", lambda text: of_b(when=text)),
    "`queue`": ("steps[1].queue", lambda text: of_b(queue=f"q{short(text)}")),
    "`timeout`": ("steps[1].timeout", lambda text: of_b(timeout=short(text))),
    "`total_timeout`": ("steps[1].total_timeout", lambda text: of_b(total_timeout=short(text))),
    "`with_items`": ("steps[1].with_items", lambda text: of_b(with_items=f"{{{{ [1] if ({bare(text)}) else [] }}}}")),
    "`input` of an item": ("steps[1].input.x", lambda text: of_b(with_items=[1], input={"x": text})),
    "`timeout` of an item": ("steps[1].timeout", lambda text: of_b(with_items=[1], timeout=short(text))),
    "`input` of a `pass` step": ("steps[1].input", lambda text: of_b(**{"pass": True, "input": text})),
    "`output`": ("output", lambda text: document(step("a"), output=text)),
    "`input` of a function's step": ("steps[1].input.x", lambda text: of_b(input={"x": text})),
    "`publish`": ("steps[1].publish.v", lambda text: of_b(publish={"v": text})),
    "`publish_on_failure`": (
        "steps[1].publish_on_failure.v",
        lambda text: of_b(function="fail", publish_on_failure={"v": text}),
    ),
    "`when` of an edge": (
        "steps[1].depends_on[0].when",
        lambda text: document(step("a", function="fail"), step("b", depends_on=[on("a", "failure", text)])),
    ),
    "`retry.while`": (
        "steps[1].retry.while",
        lambda text: of_b(function="fail", retry={"max_attempts": 2, "while": text}),
    ),
}
NAMES = ("input", "run", "config", "vars", "steps", "secrets", "result", "error", "attempt", "item", "index")
TABLE = re.findall(
    r"^\| (.+?) \| (.+) \|$", PAGE.text.partition("| place | names |\n|---|---|\n")[2].partition("\n\n")[0], re.M
)
THERE = {place: set(re.findall("`([a-z]+)`", names)) for cell, names in TABLE for place in cell.split(", ")}


def test_the_page_has_the_names_of_every_place() -> None:
    assert THERE.keys() == PLACES.keys()
    assert set().union(*THERE.values()) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", PLACES)
def test_a_name_is_where_the_page_says_and_refused_elsewhere(place: str, name: str) -> None:
    path, made = PLACES[place]
    if name in THERE[place]:
        result = testing.run(made(f"{{{{ {name} }}}}"), None, FUNCTIONS)
        told = str((result.steps, result.error))
        assert [sign for sign in ("ExpressionError", "failed: ", "could not be made") if sign in told] == []
    else:
        with pytest.raises(InvalidDefinition) as caught:
            testing.run(made(f"{{{{ {name} }}}}"), None, FUNCTIONS)
        assert [problem.path for problem in caught.value.problems] == [path]
